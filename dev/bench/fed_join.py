# SPDX-License-Identifier: Apache-2.0
"""An engine of a join whose frames and barriers are given to it by hand, so that only its own work is measured."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from framegate.joinbarrier.agent.duties import apply_map
from framegate.joinbarrier.agent.plan import engine_plan, journal_shape
from framegate.joinbarrier.agent.restoring import open_engine
from framegate.joinbarrier.config.configuration import JoinConfig
from framegate.joinbarrier.journal.folder import JournalFolder
from framegate.joinbarrier.maps.mergemap import MergeMap
from framegate.schema.control import CheckpointBarrier, Watermark

from framegate._native import JoinEngine, JoinMailbox

LEFT: Final = 10_001
RIGHT: Final = 10_002
PAYLOAD_BYTES: Final = 1024
_EPOCH: Final = 7
_SECOND_NS: Final = 1_000_000_000
_OUTPUTS: Final = 0


def config_of(folder: Path) -> JoinConfig:
    """Two streams, joined by sequence, with a journal in this folder."""
    inputs = [{"name": "left", "stream": LEFT, "offset": 0}, {"name": "right", "stream": RIGHT, "offset": 0}]
    return JoinConfig.model_validate(
        {
            "join": {"journal": str(folder / "journal"), "policy": "sequence"},
            "journal": {"seal_bytes": 1 << 20, "segment_bytes": 8 << 20, "max_bytes": 4 << 30},
            "input": inputs,
        }
    )


def plan_of(config: JoinConfig) -> dict[str, Any]:
    """The engine's plan: what waits takes 32 MiB at most."""
    return engine_plan(config) | {"pending_bytes": 32 << 20}


@contextmanager
def engine_of(config: JoinConfig) -> Iterator[tuple[JoinEngine, JournalFolder, MergeMap | None]]:
    """An engine with its map in force, which has heard one frame of each stream."""
    with JournalFolder(Path(config.join.journal), journal_shape(config)) as journal:
        engine, _ = open_engine(JoinMailbox([LEFT, RIGHT]), plan_of(config), config, journal, None)
        own = config.merge_map(engine.out_epoch())
        if own is not None:
            apply_map(engine, config, journal, own)
        for stream in (LEFT, RIGHT):
            feed(engine, stream, range(1), 1)
        try:
            yield engine, journal, own
        finally:
            engine.discard()


def feed(engine: JoinEngine, stream: int, seqs: range, second: int, frame_bytes: int = PAYLOAD_BYTES) -> None:
    """Give these frames of a stream to the engine."""
    contiguous: list[int] = []
    tensor, payload = (1, 1, [frame_bytes], contiguous), bytes(frame_bytes)
    at = second * _SECOND_NS
    for seq in seqs:
        engine.feed(stream, _EPOCH, seq, payload, tensor, (seq, None), 0, (at, at), _OUTPUTS)


def overtake(engine: JoinEngine, checkpoint_id: int, second: int) -> None:
    """Bring the left stream's barrier, and let time pass until the snapshot overtakes the right one's."""
    barrier(engine, LEFT, checkpoint_id, second)
    late = Watermark(timestamp_ms=0, stream_id=1, source_epoch=1).encode()
    at = (second + 2) * _SECOND_NS
    engine.feed_control(late, (at, at), _OUTPUTS)


def barrier(engine: JoinEngine, stream: int, checkpoint_id: int, second: int) -> None:
    """Bring a stream's barrier."""
    message = CheckpointBarrier(
        checkpoint_id=checkpoint_id, epoch=1, flags=0, stream_id=stream, source_epoch=_EPOCH, after_seq=None
    )
    at = second * _SECOND_NS
    engine.feed_control(message.encode(), (at, at), _OUTPUTS)
