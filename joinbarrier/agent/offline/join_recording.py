# SPDX-License-Identifier: Apache-2.0
"""``framegate join --from``: a join of a recording, without a media driver, as fast as the file is read.

The native engine is the one that joins live streams. Frames are handed to it instead of descriptors, and wait for their
partners in its own memory. Its clock is the recording's, so the rows are those of a join of a live replay.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from framegate.joinbarrier.agent.duties import apply_map, external_times, push_times, summary_of
from framegate.joinbarrier.agent.no_rows import Heard
from framegate.joinbarrier.agent.offline.checkpoints import RecordingCheckpoints
from framegate.joinbarrier.agent.offline.disk_room import OfflineRoom
from framegate.joinbarrier.agent.offline.memory import offline_plan
from framegate.joinbarrier.agent.offline.place import RecordingPlace
from framegate.joinbarrier.agent.plan import engine_plan
from framegate.joinbarrier.agent.rejected_inputs import look_at_rejections
from framegate.joinbarrier.agent.restoring import RestoreOptions, chosen_of, open_engine, own_part
from framegate.joinbarrier.checkpoint.state_head import SourcePlace
from framegate.joinbarrier.config.configuration import JoinConfig
from framegate.joinbarrier.journal.folder import JournalFolder
from framegate.recording.frames import Between, FrameOfRecording, Item, LeftOut, Passage
from framegate.recording.notes import notes
from framegate.schema.console.progress import progress
from framegate.schema.control import Watermark
from framegate.schema.errors import ConflictingKeys, FramegateError, InputRestarted
from framegate.shmpool.client.stream_names import stream_text
from framegate.shmpool.clock import monotonic_ns

from framegate._native import JoinMailbox

_TIME_MAX_NS: Final = (1 << 64) - 1
_log = logging.getLogger(__name__)


class RecordingJoin:
    """One join of one recording. Call ``work`` until it returns False, then ``close``."""

    def __init__(
        self,
        config: JoinConfig,
        folder: JournalFolder,
        passage: Passage,
        is_stopping: Callable[[], bool],
        restore: RestoreOptions | None = None,
        *,
        is_appended: bool = False,
    ) -> None:
        if config.join.publish:
            raise ConflictingKeys("a join of a recording has no media driver to publish by", key="join.publish")
        self._room, config = OfflineRoom.of(config)
        self.config = config
        self.folder = folder
        self._passage = passage
        self._is_stopping = is_stopping
        self._items: Iterator[Item] = iter(passage)
        self._streams = list(dict.fromkeys(each.stream for each in config.input))
        holdings = passage.recording.holdings
        plan = offline_plan(engine_plan(config), config, holdings, is_decoded=bool(passage.topics))
        self.pending_bytes: int = plan["pending_bytes"]
        """Memory for frames that wait."""
        self._name = Path(passage.recording.name).name
        restore = restore or RestoreOptions()
        self._place = RecordingPlace.found(config, folder, passage, is_appended=is_appended)
        chosen = None
        if restore.wanted is not None and restore.store is not None:
            chosen = chosen_of(restore.store, restore.wanted, own_part(config, self._name, self._place.digest))
        self._begins_behind = (
            chosen.head.source.position if chosen is not None and chosen.head.source is not None else 0
        )
        folder.begin()
        self._engine, self._resumption = open_engine(JoinMailbox(self._streams), plan, config, folder, chosen)
        self._room.begin(self._engine)
        self.first_row: int = self._engine.recovered()["next_row"]
        self._place.note(self._engine.recovered())
        self._external = external_times(config)
        self._heard = {stream: Heard() for stream in self._streams}
        self._left_out: Counter[str] = Counter()
        self._last: dict[int, tuple[int, int]] = {}
        self.began_ns = monotonic_ns()
        self.failure: FramegateError | None = None
        """Why ``close`` could not write all that was pending."""
        self._checkpoints: RecordingCheckpoints | None = None
        if restore.store is not None:
            self._checkpoints = RecordingCheckpoints(restore.store, config, folder, self._engine)
        self._apply_map()

    def _apply_map(self) -> None:
        own = self.config.merge_map(self._engine.out_epoch())
        if own is not None:
            apply_map(self._engine, self.config, self.folder, own)
        if self._checkpoints is not None:
            self._checkpoints.applied = own

    has_begun = True
    """Always true: this join waits for no producer."""

    # --- working -------------------------------------------------------------------------------------------

    def work(self, items: int = 256) -> bool:
        """Join some items. Returns False once the recording is over, or there are enough rows."""
        for _ in range(items):
            item = next(self._items, None)
            if item is None:
                self._end()
                return False
            if item.stream in self._streams and self._take(item):
                return False
            if self._checkpoints is not None and self._checkpoints.is_due and item.position > self._begins_behind:
                monotonic_at, realtime_at = self._at(item)
                place = SourcePlace(
                    name=self._name,
                    position=item.position,
                    monotonic_ns=monotonic_at,
                    realtime_ns=realtime_at,
                    digest=self._place.digest,
                )
                if self._answered(self._checkpoints.begin(place, self.config.join.outputs)):
                    return False
                self._checkpoints.store()
        return True

    def _take(self, item: Item) -> bool:
        """Join one item. Returns whether there are enough rows."""
        if item.position <= self._begins_behind:
            # The restored checkpoint contains what this item led to.
            if isinstance(item, FrameOfRecording):
                self._last[item.stream] = self._place.epochs.of(item.stream, item.epoch), item.seq
            return False
        match item:
            case LeftOut():
                self._left_out[item.cause] += 1
                return False
            case FrameOfRecording():
                self._heard[item.stream].note(item.seq, item.timestamp_ns)
                epoch = self._place.epochs.of(item.stream, item.epoch)
                self._last[item.stream] = epoch, item.seq
                return self._answered(self._feed(item, epoch))
            case Between() if isinstance(item.message, Watermark):
                epoch = self._place.epochs.of(item.stream, item.message.source_epoch)
                message = replace(item.message, stream_id=item.stream, source_epoch=epoch).encode()
                return self._answered(self._engine.feed_control(message, self._at(item), self.config.join.outputs))
        # Recorded barriers and ends are not replayed: this join ends where the recording does.
        return False

    def _feed(self, frame: FrameOfRecording, epoch: int) -> dict[str, Any]:
        tensor = frame.tensor
        return self._engine.feed(
            frame.stream,
            epoch,
            frame.seq,
            frame.payload,
            (tensor.dtype, tensor.major_order, tensor.dims, tensor.strides),
            (frame.timestamp_ns, frame.descriptor_timestamp_ns),
            frame.trace_id,
            self._at(frame),
            self.config.join.outputs,
        )

    def _at(self, item: Item) -> tuple[int, int]:
        """The time of an item by the recording's monotonic clock and by its wall clock."""
        return min(max(item.log_time_ns - self._ahead_ns, 0), _TIME_MAX_NS), item.log_time_ns

    @cached_property
    def _ahead_ns(self) -> int:
        """How far the wall clock was ahead of the monotonic clock. The recording says so before its first message."""
        try:
            return int(self._passage.recording.about.get("realtime_minus_monotonic_ns", "0"))
        except ValueError:
            return 0

    def _answered(self, outcome: dict[str, Any]) -> bool:
        """Do what the engine asks for until it asks no more. Returns whether there are enough rows."""
        outputs = self.config.join.outputs
        while True:
            if outcome["has_rejections"]:
                look_at_rejections(self._engine, self.config)
            if outcome["has_new_epoch"]:
                if self.config.join.on_input_restart == "stop":
                    raise InputRestarted("an input came back with a new epoch", journal=str(self.folder.path))
                self._apply_map()
            elif outcome["is_full"]:
                if self._is_stopping():
                    return True
                self._room.make(self._engine, self.folder, outcome["full_reason"], self._passage.position)
            elif not (outcome["needs_time"] and self._external and push_times(self._engine, self._external)):
                return bool(outcome["has_all_outputs"])
            outcome = self._engine.settle(outputs)

    def _end(self) -> None:
        for stream, unread in self._passage.unread.items():
            _log.warning("stream %s: %s", self._text(stream), unread)
        for note in notes(
            not_timed=self._passage.not_timed,
            not_decoded=self._passage.not_decoded,
            as_bytes=self._passage.as_bytes,
        ):
            _log.warning("%s", note)
        for stream in self._streams:
            if stream in self._last:
                self._engine.note_end(stream, *self._last[stream])
            else:
                _log.warning("the recording has no frame of stream %s", self._text(stream))
        self._answered(self._engine.settle(self.config.join.outputs))
        self._place.is_whole = True

    def _text(self, stream: int) -> str:
        return stream_text(stream, {each.stream: each.name for each in self.config.input})

    # --- ending --------------------------------------------------------------------------------------------

    def progress(self, *, as_json: bool) -> AbstractContextManager[None]:
        """A progress bar on the terminal, shown while the recording is joined."""
        passage = self._passage
        total = passage.recording.holdings.messages
        return progress(f"join {self._name}", lambda: passage.position, total, unit="messages", as_json=as_json)

    def summary(self) -> dict[str, Any]:
        """What was done so far."""
        return self._summary(self._engine.counters())

    def close(self) -> dict[str, Any]:
        """Write what is pending and close the journal. Returns the summary."""
        if self._checkpoints is not None:
            self._checkpoints.close()
        counted = self._engine.finish(is_to_go_on=not self._place.is_whole)
        self.failure = counted.pop("failure")
        if self.failure is None:
            self._place.close()
        return self._summary(counted)

    def _summary(self, counted: dict[str, Any]) -> dict[str, Any]:
        recording = self._passage.recording
        return {
            **summary_of(counted, self.began_ns),
            "rows_before": self._place.rows_before,
            **self._resumption.summary(self.config),
            **({} if self._checkpoints is None else self._checkpoints.summary()),
            "from": recording.name,
            "position": self._passage.position,
            "frames": sum(each.frames for each in self._heard.values()),
            "left_out": dict(self._left_out),
            "not_images": self._passage.not_images,
            "not_decoded": self._passage.not_decoded,
            "not_timed": self._passage.not_timed,
            "as_bytes": self._passage.as_bytes,
            "unread": {str(stream): asdict(each) for stream, each in self._passage.unread.items()},
            "damage": recording.damage,
            "damaged_chunks": recording.damaged_chunks,
            "lost": [asdict(each) for each in recording.lost],
        }

    @property
    def heard(self) -> dict[str, Heard]:
        """The frames that were heard of each input."""
        return {each.name: self._heard[each.stream] for each in self.config.input}
