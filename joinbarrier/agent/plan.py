# SPDX-License-Identifier: Apache-2.0
"""Translates a join.toml for the native engine: plain values, in its units, by the names of its own fields."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any, Final

from framegate.joinbarrier.config.configuration import JoinConfig
from framegate.joinbarrier.config.contradiction import bound
from framegate.joinbarrier.config.drive import Drive
from framegate.joinbarrier.config.sections import InputSection
from framegate.joinbarrier.journal.description import JournalInput
from framegate.joinbarrier.journal.folder import JournalFolder, JournalShape
from framegate.joinbarrier.maps.mergemap import MergeMap, SequenceRule
from framegate.shmpool.clock import monotonic_ns, realtime_ns

_NS_PER_MS: Final = 1_000_000
_NS_PER_S: Final = 1_000_000_000
_HISTORY_LEAST: Final = 4_096
_HISTORY_MOST: Final = 262_144
_SMALL_FRAME_BYTES: Final = 256
_AHEAD_BYTES: Final = 32 << 20
"""How much memory for copies is taken from the system before it is needed."""


def engine_plan(config: JoinConfig) -> dict[str, Any]:
    """The plan of the stage: policy, drive and inputs."""
    drive = config.drive
    return {
        "policy": config.join.policy,
        "out_stream": config.join.out_stream,
        "drive": drive_plan(drive, [each.name for each in config.input]),
        "first": None if config.join.first == "auto" else int(config.join.first),
        "out_epoch": config.first_epoch,
        "is_late_stalled": config.mergemap.late == "stall",
        "is_ordered_by_time": config.mergemap.order_by == "timestamp",
        "is_realtime": config.mergemap.clock_domain == "realtime_synced",
        "max_skew_ns": config.join.max_skew_ns,
        "max_age_ns": config.join.max_age_ms * _NS_PER_MS,
        "history": history_frames(config),
        "keeps_unmatched": config.join.unmatched == "rows",
        "pending_bytes": 0 if config.join.pending == "ring" else config.join.pending_bytes,
        "ahead_bytes": _AHEAD_BYTES,
        "copies_at_arrival": config.join.pending == "copy",
        "checkpoints": checkpoint_plan(config),
        "inputs": [
            {
                "name": each.name,
                "stream": each.stream,
                "tolerance_ns": each.tolerance_ns,
                "source": each.timestamp_source,
                "pick": "sequence" if is_by_sequence(config, each) else each.pick,
                "seq_offset": (each.offset or 0) if is_by_sequence(config, each) else 0,
                "reuse": each.reuse,
                "deadline_ns": each.deadline_ms * _NS_PER_MS,
                "optional": each.optional,
                "processed": each.processed,
                "drops_regressed": each.regressed == "drop",
            }
            for each in config.input
        ],
    }


def is_by_sequence(config: JoinConfig, each: InputSection) -> bool:
    """Whether an input of a join by time is joined by the sequence of the driving frame."""
    return config.join.policy == "timestamp" and each.offset is not None


def drive_plan(drive: Drive, names: list[str]) -> str | dict[str, Any]:
    """The plan of the drive. An input is given by its index."""
    if drive.kind == "input":
        return {"input": names.index(drive.input)}
    return {"clock": {"period_ns": drive.period_ns}} if drive.kind == "clock" else drive.kind


def history_frames(config: JoinConfig) -> int:
    """How many frames of each input may wait for their partners: as many small frames as its share of ``pending_bytes``
    can hold, and some more, within bounds."""
    streams = len({each.stream for each in config.input})
    return min(_HISTORY_MOST, _HISTORY_LEAST + config.join.pending_bytes // streams // _SMALL_FRAME_BYTES)


def checkpoint_plan(config: JoinConfig) -> dict[str, Any]:
    """The plan of barrier alignment, until a coordinator sends the settings of the pipeline."""
    checkpoint = config.checkpoint
    return {
        "pipeline": config.join.pipeline,
        "timeout_ns": checkpoint.alignment_timeout_ms * _NS_PER_MS,
        "is_enabled": checkpoint.unaligned,
        "is_forced": checkpoint.force_unaligned,
        "late_timeout_ns": checkpoint.late_barrier_timeout_ms * _NS_PER_MS or None,
        "events_per_input": checkpoint.max_buffer_per_input,
        "buffer_bytes": checkpoint.max_buffer_memory_bytes,
        "inflight_bytes": checkpoint.max_inflight_bytes,
        "floor": 0,
        "published_input": published_input(config),
        "is_computed": ":" in config.join.publish,
        "keeps_payload": config.join.hold == "payload",
        "is_prefaulted": checkpoint.prefault,
    }


def published_input(config: JoinConfig) -> int | None:
    """The index of the input whose frames, or a function of them, are published; None if nothing is."""
    publish = config.join.publish
    if not publish:
        return None
    return 0 if ":" in publish else [each.name for each in config.input].index(publish)


def journal_plan(config: JoinConfig, folder: JournalFolder) -> dict[str, Any]:
    """The plan of the journal's writer."""
    journal = config.journal
    return {
        "out_stream": config.join.out_stream,
        "journal_epoch": folder.epoch,
        "inputs": [each.name for each in config.input],
        "seal_rows": journal.seal_rows,
        "seal_bytes": journal.seal_bytes,
        "seal_ns": journal.seal_ms * _NS_PER_MS,
        "segment_bytes": journal.segment_bytes,
        "segment_ns": journal.segment_s * _NS_PER_S,
        "max_bytes": journal.max_bytes,
        "when_full": journal.when_full,
        "durability": journal.durability,
        "realtime_offset_ns": realtime_ns() - monotonic_ns(),
        "prefault_all": journal.prefault == "all",
    }


def noted_map(config: JoinConfig, applied: MergeMap) -> dict[str, Any]:
    """A map as journal.json keeps it: its announce with epoch 0, the local keys, and the rules in words."""
    names = [each.name for each in config.input]
    inputs = {place: names[index] for index, place in enumerate(bound(config, applied)) if place is not None}
    described = []
    for place, rule in enumerate(applied.rules):
        fields = ("offset", "window") if isinstance(rule, SequenceRule) else ("offset_ns", "window_ns")
        given = {field: value for field in fields if (value := getattr(rule, field)) is not None}
        described.append({"input": inputs.get(place), "stream": rule.stream, **given})
    message = replace(applied, epoch=0).to_message().encode().hex()
    return {"out_epoch": applied.epoch, "rules": described, "message": message, "local": local_keys(config)}


def local_keys(config: JoinConfig) -> dict[str, Any]:
    """The keys of the join's own file that decide what frames it takes, and for which a map has no field."""
    join, mergemap = config.join, config.mergemap
    return {
        "policy": join.policy,
        "drive": asdict(config.drive),
        "first": join.first,
        "max_skew_ns": join.max_skew_ns,
        "max_age_ms": join.max_age_ms,
        "order_by": mergemap.order_by,
        "late": mergemap.late,
        "inputs": [_local_input(config, each) for each in config.input],
    }


def _local_input(config: JoinConfig, each: InputSection) -> dict[str, Any]:
    by_sequence = {"offset": each.offset} if is_by_sequence(config, each) else {}
    return each.model_dump(include=set(_LOCAL)) | by_sequence


_LOCAL: Final = ("name", "stream", "tolerance_ns", "pick", "reuse", "deadline_ms", "optional")


def journal_shape(config: JoinConfig) -> JournalShape:
    """The columns of this join's rows."""
    return JournalShape(
        out_stream=config.join.out_stream,
        policy=config.join.policy,
        inputs=tuple(JournalInput(name=each.name, stream=each.stream) for each in config.input),
        durability=config.journal.durability,
        reader_lease_s=config.journal.reader_lease_s,
    )
