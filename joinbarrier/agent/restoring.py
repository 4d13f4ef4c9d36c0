# SPDX-License-Identifier: Apache-2.0
"""Restores a join from a checkpoint: its engine is opened on the right journal, and takes back what is stored.

The pure parts are elsewhere: ``checkpoint/restore_choice.py`` chooses the checkpoint, and ``restore/basis.py`` decides
whose state is used.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from typing import Any, Final

from framegate.joinbarrier.agent.duties import recall_by
from framegate.joinbarrier.agent.plan import journal_plan
from framegate.joinbarrier.agent.state import operator_id_of
from framegate.joinbarrier.checkpoint.restore.basis import Basis, JournalTail, basis_of
from framegate.joinbarrier.checkpoint.restore_choice import LATEST, Chosen, OwnPart, choose
from framegate.joinbarrier.checkpoint.state_head import StateHead
from framegate.joinbarrier.checkpoint.store import CheckpointStore
from framegate.joinbarrier.config.configuration import JoinConfig
from framegate.joinbarrier.journal.folder import JournalFolder
from framegate.schema.errors import WrongUsage

from framegate._native import JoinEngine, JoinMailbox

_ID_MAX: Final = 2**63 - 1
_NS_PER_MS: Final = 1_000_000
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreOptions:
    """The options of the command line for a restore."""

    wanted: str | int | None = None
    """``latest``, the id of a checkpoint, or None to restore nothing."""
    store: str | None = None
    """The folder of the checkpoints; None if the pipeline's coordinator names it."""


def parse_wanted(word: str | None) -> str | int | None:
    """Read the argument of --restore.

    >>> parse_wanted("latest"), parse_wanted("12"), parse_wanted(None)
    ('latest', 12, None)
    """
    if word is None or word == LATEST:
        return word
    if not (word.isascii() and word.isdigit() and 0 < int(word[:20]) <= _ID_MAX and len(word) < 20):
        raise WrongUsage(f"--restore {word!r} is neither `latest` nor the id of a checkpoint")
    return int(word)


@dataclass(slots=True)
class Resumption:
    """How a restored join went on from its checkpoint, for its summary."""

    restored_from: int | None = None
    restored_frames: int = 0
    basis: Basis | None = None
    gaps: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    """For each stream, the frames that passed while no agent was there: epoch, first, last."""

    def look(self, engine: JoinEngine, config: JoinConfig) -> None:
        """Note and report the gaps that the engine found since the last call."""
        for stream, epoch, first, last in engine.gaps():
            if stream not in self.gaps:
                self.gaps[stream] = epoch, first, last
                names = "/".join(each.name for each in config.input if each.stream == stream)
                told = f"frame {first}" if first == last else f"frames {first} to {last}"
                _log.warning("%s (stream %d): %s passed while no agent was there", names, stream, told)

    def summary(self, config: JoinConfig) -> dict[str, Any]:
        """The keys for the join's summary."""
        frames = {stream: last - first + 1 for stream, (_, first, last) in self.gaps.items()}
        return {
            "restored_from": self.restored_from,
            "restored_frames": self.restored_frames,
            "gap": {each.name: frames.get(each.stream, 0) for each in config.input},
        }


def own_part(config: JoinConfig, recording: str | None = None, digest: str = "") -> OwnPart:
    """The identity by which a join finds its state. ``recording`` and ``digest`` are given for a join of a
    recording."""
    return OwnPart(
        operator_id=operator_id_of(config),
        pipeline=config.join.pipeline,
        recording=recording,
        digest=digest,
        out_stream=config.join.out_stream,
        policy=config.join.policy,
        inputs=tuple((each.name, each.stream) for each in config.input),
    )


def chosen_of(place: str, wanted: str | int, own: OwnPart) -> Chosen | None:
    """The checkpoint to go back to. None, with a warning, if there is none yet."""
    found = choose(CheckpointStore(place), wanted, own)
    if found is None:
        _log.warning("%s: there is no checkpoint of %s yet: it starts as usual", place, own.operator_id)
    return found


def open_engine(
    mailbox: JoinMailbox,
    plan: dict[str, Any],
    config: JoinConfig,
    folder: JournalFolder,
    chosen: Chosen | None,
) -> tuple[JoinEngine, Resumption]:
    """Open an engine on the journal's tail, or on a checkpoint. Raises CheckpointDamaged or CheckpointMismatch."""
    engine = JoinEngine(mailbox, plan, folder.path, journal_plan(config, folder), idle=config.join.idle)
    if chosen is None:
        return engine, Resumption()
    found = engine.recovered()
    basis = basis_of(chosen.head, JournalTail(folder.epoch, found["next_row"], found["state"]))
    if basis is Basis.NEW_EPOCH:
        engine.discard()
        folder.begin_anew(f"checkpoint {chosen.head.checkpoint_id} says that it had {chosen.head.next_row} rows")
        engine = JoinEngine(mailbox, plan, folder.path, journal_plan(config, folder), idle=config.join.idle)
    _note_map(chosen, config)
    known = config.merge_map(engine.out_epoch()) if config.mergemap.serve else chosen.map
    if known is not None:
        # The stage needs a map to tell which recalled frames the journal's rows have already passed.
        recall_by(engine, config, folder, replace(known, epoch=engine.out_epoch()))
    rest = _rest_of(chosen.head, basis, engine.out_epoch())
    if basis is Basis.TAIL and config.join.policy == "latest":
        rest = _behind(rest, _last_out_time(folder, found["next_row"]), config)
    told = engine.restore(_plan_of(chosen, basis, rest))
    engine.invalidate()
    is_anew = basis in (Basis.CHECKPOINT, Basis.NEW_EPOCH) and chosen.head.next_row > 0
    _log.log(
        logging.WARNING if is_anew else logging.INFO,
        "restored from checkpoint %d (%s): %d frames wait again, the journal had decided %d, %d events were in flight",
        chosen.head.checkpoint_id,
        _HOW[basis],
        told["frames"],
        told["decided"],
        told["inflight"],
    )
    if told["left_out"]:
        _log.info("%d signals that were in flight are not aligned again", told["left_out"])
    return engine, Resumption(chosen.head.checkpoint_id, told["frames"], basis)


_HOW: Final = {
    Basis.SAME: "the journal ends there",
    Basis.TAIL: "the journal goes on from its own end, which is further",
    Basis.CHECKPOINT: "a journal that has just begun goes on from it, for the one that it was taken with is gone",
    Basis.NEW_EPOCH: "a new journal epoch begins with it",
}


def _plan_of(chosen: Chosen, basis: Basis, rest: dict[str, Any]) -> dict[str, Any]:
    head = chosen.head
    source = head.source
    return {
        "state": head.stage if basis in (Basis.CHECKPOINT, Basis.NEW_EPOCH) else None,
        "barrier": (head.checkpoint_id, head.epoch, head.is_unaligned),
        "frames": list(chosen.frames),
        "inflight": [(each.place, list(each.records), list(each.lost)) for each in chosen.late],
        "lost": list(head.lost),
        "rest": rest,
        # Output times that the journal's tail has already decided were removed before.
        "is_same_cut": True,
        "fed_at": None if source is None else (source.monotonic_ns, source.realtime_ns),
    }


def _rest_of(head: StateHead, basis: Basis, out_epoch: int) -> dict[str, Any]:
    rest = dict(head.rest)
    if basis is Basis.TAIL and out_epoch != head.out_epoch:
        # The output began a new epoch since: the waiting times belong to the old epoch.
        rest |= {"watermark_ms": None, "out_times": []}
    return rest


def _behind(rest: dict[str, Any], done_ns: int | None, config: JoinConfig) -> dict[str, Any]:
    """The times that must still become outputs, for drives whose stage does not record its last output."""
    if done_ns is None:
        return rest
    tick_ns, watermark_ms = rest["next_tick_ns"], rest["watermark_ms"]
    if config.drive.kind == "clock" and tick_ns is not None and tick_ns <= done_ns:
        tick_ns += ((done_ns - tick_ns) // config.drive.period_ns + 1) * config.drive.period_ns
    if config.drive.kind == "watermark":
        watermark_ms = max(watermark_ms or 0, done_ns // _NS_PER_MS)
    out_times = [each for each in rest["out_times"] if each > done_ns]
    return rest | {"next_tick_ns": tick_ns, "watermark_ms": watermark_ms, "out_times": out_times}


def _last_out_time(folder: JournalFolder, next_row: int) -> int | None:
    """The time of the last row; None if it has none, or there is no row."""
    # Loaded here because pyarrow takes a tenth of a second, and few joins are restored.
    from framegate.joinbarrier.journal.journal import Journal

    rows = list(Journal(folder.path).rows(start=next_row - 1, stop=next_row)) if next_row else []
    return rows[-1]["out_time_ns"] if rows else None


def _note_map(chosen: Chosen, config: JoinConfig) -> None:
    """Warn if other rules made the rows: decided rows stay, and waiting frames are joined by the new rules."""
    if chosen.map is None or not config.mergemap.serve:
        return
    if config.merge_map(chosen.map.epoch) != chosen.map:
        found = chosen.head.checkpoint_id
        _log.warning("checkpoint %d was taken with other rules: frames that wait are joined by the present ones", found)
