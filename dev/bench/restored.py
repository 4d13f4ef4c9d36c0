# SPDX-License-Identifier: Apache-2.0
"""How long a join takes to go back to a checkpoint with 10,000 frames in flight: read, checked, and waited for again.

Each round opens the journal once without a checkpoint before, so that what is said is the checkpoint's share.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from framegate.joinbarrier.agent.plan import journal_shape
from framegate.joinbarrier.agent.restoring import open_engine, own_part
from framegate.joinbarrier.agent.state import described, operator_id_of
from framegate.joinbarrier.checkpoint.checkpoint_id import CheckpointId
from framegate.joinbarrier.checkpoint.inflight import inflight_file
from framegate.joinbarrier.checkpoint.manifest import Manifest
from framegate.joinbarrier.checkpoint.operator.state import encode_head
from framegate.joinbarrier.checkpoint.restore_choice import LATEST, Chosen, choose
from framegate.joinbarrier.checkpoint.store import CheckpointStore
from framegate.joinbarrier.checkpoint.store_files import Content
from framegate.joinbarrier.config.configuration import JoinConfig
from framegate.joinbarrier.journal.folder import JournalFolder
from framegate.shmpool.clock import monotonic_ns

from dev.bench.fed_join import LEFT, RIGHT, barrier, config_of, engine_of, feed, overtake, plan_of
from dev.bench.result import Result
from framegate._native import JoinMailbox

EVENTS: Final = 10_000
ROUNDS: Final = 9


def run() -> Iterator[Result]:
    """One figure, and beside it the same without anything in flight."""
    for events in (EVENTS, 0):
        with tempfile.TemporaryDirectory(prefix="framegate-bench-", dir="/dev/shm") as folder:
            taken = sorted(_rounds(Path(folder), events))
        yield Result(
            question=f"restore of a join, {events} frames of 1 KiB in flight",
            measured=statistics.median(taken),
            unit="ms",
            target=50 if events else None,
            spread=(taken[0], taken[-1]),
            how=f"{ROUNDS} restores, from reading the store to the engine's first slice; journal in /dev/shm",
        )


def _rounds(folder: Path, events: int) -> Iterator[float]:
    config = config_of(folder)
    store = CheckpointStore(folder / "checkpoints")
    _cut(config, store, events)
    for _ in range(ROUNDS):
        with JournalFolder(Path(config.join.journal), journal_shape(config)) as journal:
            opened_ns = _opened(config, journal, None)
            began_ns = monotonic_ns()
            chosen = choose(store, LATEST, own_part(config))
            chosen_ns = monotonic_ns() - began_ns
            yield (chosen_ns + _opened(config, journal, chosen) - opened_ns) / 1e6


def _opened(config: JoinConfig, journal: JournalFolder, chosen: Chosen | None) -> int:
    began_ns = monotonic_ns()
    engine, _ = open_engine(JoinMailbox([LEFT, RIGHT]), plan_of(config), config, journal, chosen)
    lasted_ns = monotonic_ns() - began_ns
    engine.discard()
    return lasted_ns


def _cut(config: JoinConfig, store: CheckpointStore, events: int) -> None:
    """A checkpoint that overtook one of two streams, which then brought so much."""
    with engine_of(config) as (engine, journal, own):
        overtake(engine, 1, 1)
        feed(engine, RIGHT, range(1, events + 1), 3)
        barrier(engine, RIGHT, 1, 4)
        news = {each["kind"]: each for each in engine.take_news()}
        snapshot, operator_id = news["snapshot"]["snapshot"], operator_id_of(config)
        head = described(snapshot.head(), config, journal, own)
        state = store.write_state(1, operator_id, Content(encode_head(head), snapshot.records))
        inflight = tuple(
            store.write_inflight_file(1, operator_id, place, inflight_file(place, records), len(records))
            for place, records, _ in news["complete"]["inflight"]
        )
    store.commit(
        Manifest(
            checkpoint_id=1,
            checkpoint_uuid=str(CheckpointId.new()),
            epoch=1,
            pipeline=config.join.pipeline,
            is_unaligned=True,
            was_threshold_triggered=True,
            created_ns=1,
            operators=(state,),
            inflight_data=inflight,
        )
    )
