# SPDX-License-Identifier: Apache-2.0
"""``framegate replay``: one process publishes all streams of a recording, in the order of the recording."""

from __future__ import annotations

import logging
import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, Final

from framegate.joinbarrier.checkpoint.store import CheckpointStore
from framegate.recording.dump import Dump
from framegate.recording.frames import Between, FrameOfRecording, Item, LeftOut, Passage, Unread
from framegate.recording.notes import notes
from framegate.recording.recorded import LostPart, Topic
from framegate.recording.requirements import require_contents
from framegate.recording.source import Source, open_source
from framegate.recording.stream_names import names_in
from framegate.recording.topic_map import is_ours, stream_of
from framegate.schema.console.progress import progress
from framegate.schema.console.quantities import byte_size, count, rounded
from framegate.schema.console.reporting import emit
from framegate.schema.control import Watermark
from framegate.schema.errors import DONE, FAILED
from framegate.shmpool.client.attach_progress import attach_progress
from framegate.shmpool.client.client import Client
from framegate.shmpool.client.stream_names import stream_text
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.producer.audience_wait import wait_for_consumers
from framegate.shmpool.stop_signal import StopSignal
from framegate.tools.replay.check import Check, check_journal
from framegate.tools.replay.checkpoints import ReplayCheckpoints
from framegate.tools.replay.declared import Declared, declared_of
from framegate.tools.replay.left_out import LossCauses
from framegate.tools.replay.options import MAX, ReplayOptions
from framegate.tools.replay.place import Place
from framegate.tools.replay.read_ahead import ReadAhead
from framegate.tools.replay.replay_state import StreamState
from framegate.tools.replay.restoring import Announced, find_state
from framegate.tools.replay.sender import Sender
from framegate.tools.replay.source_mark import source_mark
from framegate.tools.replay.timetable import Lateness, Timetable

_LINGER_S: Final = 0.25
_WAIT_SLICE_S: Final = 0.1
_PROGRESS_NS: Final = 1_000_000_000
_SWITCH_INTERVAL_S: Final = 0.000_2
"""How long the reading thread may keep the interpreter from the publishing thread."""
_log = logging.getLogger(__name__)


def run(options: ReplayOptions) -> int:
    """Replay. Returns the exit code."""
    sys.setswitchinterval(_SWITCH_INTERVAL_S)
    streams = _streams_of(options)
    with open_source(options.source) as recording, _looking(recording, options):
        declared = declared_of(recording, options.topics, options.times, streams)
    with StopSignal() as stop, options.connect() as client, _Replay(options, client, stop, declared) as replay:
        if options.injects_for is not None and streams:
            replay.take_part(options.injects_for, streams)
        for stream in streams if not stop.is_set else ():
            replay.sender(stream)
        stop.listen()
        replay.say_ready()
        producers = [sender.producer for sender in replay.senders.values()]
        if wait_for_consumers(producers, options.wait_consumers, stop):
            replay.play()
        replay.end()
        summary = replay.summary()
    is_over = not stop.is_set
    check = None
    if options.check and is_over:
        check = check_journal(options.check, options.source, options.topics, options.times)
    _say_summary(options, summary, check, replay.names)
    return FAILED if check is not None and not check.is_same else DONE


def _looking(recording: Source, options: ReplayOptions) -> AbstractContextManager[None]:
    name = options.source.name
    return progress(f"look into {name}", lambda: recording.at, recording.size, as_json=options.json)


def _streams_of(options: ReplayOptions) -> list[int]:
    """The streams that the file names, and those that are mapped. Others are attached when their frames come."""
    with open_source(options.source) as recording:
        with _looking(recording, options):
            require_contents(recording, options.topics, times=options.times)
        if isinstance(recording, Dump):
            # The file does not name its streams. A stream without a frame needs no producer.
            sent = Passage(recording, options.topics)
            return list(dict.fromkeys(item.stream for item in sent if isinstance(item, FrameOfRecording)))
        # A recording's information about itself comes before its first message.
        next(iter(recording), None)
        listed = recording.about.get("streams", "")
    names = [f"stream/{word}/payload" for word in listed.split(",") if word.isdigit()]
    ours = [stream_of(Topic.of(name, "", ""), options.topics) for name in names]
    foreign = [stream for topic, stream in options.topics.items() if not is_ours(topic)]
    return list(dict.fromkeys(stream for stream in [*ours, *foreign] if stream is not None))


@dataclass
class _Replay:
    options: ReplayOptions
    client: Client
    stop: StopSignal
    declared: dict[int, Declared]
    """What is known of each stream's frames."""
    senders: dict[int, Sender] = field(default_factory=dict)
    restored: dict[int, StreamState] = field(default_factory=dict)
    restored_id: int | None = None
    lateness: Lateness = field(default_factory=Lateness)
    causes: LossCauses = field(default_factory=LossCauses)
    between: Counter[str] = field(default_factory=Counter)
    position: int = 0
    loops: int = 0
    not_images: int = 0
    not_decoded: int = 0
    not_timed: int = 0
    as_bytes: dict[str, str] = field(default_factory=dict)
    unread: dict[int, Unread] = field(default_factory=dict)
    """Counts of the last time through the file, like the damage."""
    damage: str | None = None
    damaged_chunks: int = 0
    lost: list[LostPart] = field(default_factory=list)
    began_ns: int = field(default_factory=monotonic_ns)
    _said_at_ns: int = 0
    _open: ExitStack = field(default_factory=ExitStack)
    _checkpoints: ReplayCheckpoints | None = None

    @cached_property
    def names(self) -> dict[int, str]:
        """Streams by their names: here, and in the recording."""
        recorded = {stream: name for name, stream in names_in(self.options.source).items()}
        return recorded | self.client.names.by_number()

    def __enter__(self) -> _Replay:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._checkpoints is not None:
            # This comes before the streams end: none of them owes a barrier to a pipeline that the replay has left.
            self._checkpoints.close()
        self._open.close()

    def take_part(self, pipeline: str, streams: list[int]) -> None:
        """Take part in the pipeline's checkpoints, and go on from the one to restore, if any."""
        source, announced = source_mark(self.options.source), Announced()
        wanted, place = self.options.restore, self.options.checkpoints
        hear = announced.hear if wanted is not None and place is None else None
        checkpoints = ReplayCheckpoints(self.client, pipeline, streams, self.senders, source, hear)
        self._checkpoints = checkpoints
        if wanted is None:
            return
        if place is None:
            place = announced.store(pipeline, self.client.wait_driver_s, lambda: self.stop.is_set)
        state = find_state(CheckpointStore(place), wanted, checkpoints.operator_id, source) if place else None
        if state is not None:
            self.restored_id = state.checkpoint_id
            self.restored = {each.stream: each for each in state.streams}
            self.loops = min((each.loop for each in state.streams), default=0)
        checkpoints.is_restoring = False

    def sender(self, stream: int) -> Sender:
        """The attached sender of a stream. Raises what attaching raises."""
        if stream not in self.senders:
            with attach_progress(self.client, stream, as_json=self.options.json):
                sender = Sender(
                    self.client,
                    stream,
                    self.stop.wait,
                    self.options.injects_for,
                    self.restored.get(stream),
                    declared=self.declared.get(stream),
                    is_restarted=self.options.restore is not None,
                    consumers=self.options.wait_consumers,
                )
            self.senders[stream] = sender
            self._open.callback(sender.close)
        return self.senders[stream]

    def play(self) -> None:
        """Replay the recording once, or as often as is wanted."""
        self.began_ns = monotonic_ns()
        while self.options.loop == 0 or self.loops < self.options.loop:
            before, first = self._sent(), min((each.loop for each in self.restored.values()), default=None)
            is_rest = self.loops == first
            if not self._play_once():
                return
            self.loops += 1
            if self._sent() == before and self.options.loop == 0 and not is_rest:
                # Nothing in the recording can be sent, so repeating it would never end.
                return

    def _sent(self) -> int:
        return sum(sender.frames for sender in self.senders.values())

    def _play_once(self) -> bool:
        """Replay the recording once. Returns False if told to end meanwhile."""
        timetable = Timetable(self.options.speed)
        with open_source(self.options.source) as recording:
            passage = Passage(recording, self.options.topics, self.options.times)
            try:
                with self._progress(recording), ReadAhead(passage) as items:
                    if not self._play_items(items, timetable):
                        return False
                self.position = passage.position
                if isinstance(recording, Dump) and recording.unknown and not self.loops:
                    _log.warning("%d messages of the dump belong to no frame and to no known schema", recording.unknown)
            finally:
                self.not_images += passage.not_images
                self.not_decoded += passage.not_decoded
                self.as_bytes = passage.as_bytes
                self.not_timed += passage.not_timed
                self.unread = passage.unread
                self.damage, self.damaged_chunks = recording.damage, recording.damaged_chunks
                self.lost = recording.lost
                self.causes.settle(passage.losses)
        return True

    def _progress(self, recording: Source) -> AbstractContextManager[None]:
        name, as_json = self.options.source.name, self.options.json
        # For the total, a dump would have to be read once more.
        total = None if isinstance(recording, Dump) else recording.holdings.messages
        # Every other time the replay begins at the beginning.
        self.position = self.position if not self.loops else 0
        return progress(f"replay {name}", lambda: self.position, total, unit="messages", as_json=as_json)

    def _play_items(self, items: ReadAhead, timetable: Timetable) -> bool:
        for item in self._wanted(items):
            if not self._play_item(item, timetable):
                return False
            self.position = item.position
            self._say_position()
        return True

    def _wanted(self, items: ReadAhead) -> Iterator[Item]:
        options = self.options
        for item in items:
            if self._is_behind(item):
                continue
            # Every other time the replay begins at the beginning.
            if self.loops or (item.position > options.from_position and item.log_time_ns >= (options.from_ns or 0)):
                yield item

    def _is_behind(self, item: Item) -> bool:
        """Whether an item was sent before the barrier of its stream in the restored checkpoint."""
        state = self.restored.get(item.stream)
        return state is not None and Place(self.loops, item.position) <= state.place

    def _play_item(self, item: Item, timetable: Timetable) -> bool:
        """Send one item at its time. Returns False if told to end."""
        if isinstance(item, LeftOut):
            self.causes.left_out(item)
            return not self.stop.is_set
        if isinstance(item, Between) and not (self.options.raw or isinstance(item.message, Watermark)):
            self.between["left_out"] += 1
            return not self.stop.is_set
        due_ns = timetable.due_ns(item.log_time_ns, now_ns=monotonic_ns())
        if not self._wait_until(due_ns):
            return False
        sender = self.sender(item.stream)
        if isinstance(item, FrameOfRecording):
            is_sent = sender.send(item, life=self.loops, is_paced=self.options.speed == MAX)
            if is_sent and self.options.speed != MAX:
                self.lateness.note(monotonic_ns() - due_ns)
        else:
            sender.send_between(item)
            self.between["sent"] += 1
        return not self.stop.is_set

    def _wait_until(self, at_ns: int) -> bool:
        while (left_ns := at_ns - monotonic_ns()) > 0:
            if self.stop.wait(min(left_ns / 1e9, _WAIT_SLICE_S)):
                return False
        return not self.stop.is_set

    def end(self) -> None:
        """Announce the end, if that is wanted, and let consumers read what they have not read yet."""
        if self.stop.is_set:
            return
        for sender in self.senders.values():
            if self.options.end and sender.producer.is_attached:
                sender.end()
        for sender in self.senders.values():
            # Frames that wait for their partners are in rings that go with their leases.
            sender.wait_read()
        if self.senders:
            self.stop.wait(_LINGER_S)

    def say_ready(self) -> None:
        """Print a ready line for programs."""
        if self.options.json:
            epochs = {str(stream): sender.producer.epoch for stream, sender in self.senders.items()}
            file = str(self.options.source)
            ready = {
                "event": "ready",
                "pid": os.getpid(),
                "file": file,
                "streams": list(self.senders),
                "epochs": epochs,
            }
            emit({**ready, "restored": self.restored_id})

    def _say_position(self) -> None:
        now_ns = monotonic_ns()
        if self.options.json and now_ns >= self._said_at_ns:
            self._said_at_ns = now_ns + _PROGRESS_NS
            emit({"event": "position", "position": self.position, "loop": self.loops, "frames": self._sent()})

    def summary(self) -> dict[str, Any]:
        """What was sent, what was not sent and why, and how late it was."""
        seconds = round((monotonic_ns() - self.began_ns) / 1e9, 6)
        streams = [self._of_stream(stream) for stream in sorted({*self.senders, *self.causes.streams()})]
        left_out = Counter[str]()
        for each in streams:
            left_out.update(each["left_out"])
        return {
            "event": "summary",
            "file": str(self.options.source),
            "frames": self._sent(),
            "bytes": sum(sender.bytes for sender in self.senders.values()),
            "left_out": dict(left_out),
            "between_sent": self.between["sent"],
            "between_left_out": self.between["left_out"],
            "not_images": self.not_images,
            "not_decoded": self.not_decoded,
            "not_timed": self.not_timed,
            "as_bytes": self.as_bytes,
            "unread": {str(stream): asdict(each) for stream, each in self.unread.items()},
            "position": self.position,
            "loops": self.loops,
            "restored": self.restored_id,
            "late_ns": self.lateness.as_json(),
            "damage": self.damage,
            "damaged_chunks": self.damaged_chunks,
            "lost": [asdict(each) for each in self.lost],
            "seconds": seconds,
            "streams": streams,
        }

    def _of_stream(self, stream: int) -> dict[str, Any]:
        sender = self.senders.get(stream)
        left_out = self.causes.of(stream) + (sender.left_out if sender else Counter())
        sent = {"frames": 0, "bytes": 0, "descriptors_lost": 0, "paused": 0}
        if sender is not None:
            sent = {key: getattr(sender, key) for key in sent}
        return {"stream": stream, "name": self.names.get(stream), **sent, "left_out": dict(left_out)}


def _say_damage(summary: dict[str, Any]) -> None:
    if summary["damage"] is not None or summary["damaged_chunks"]:
        print(f"  the file is damaged: {summary['damage'] or 'some chunks are'}")
    for lost in summary["lost"]:
        print(f"  {LostPart(**lost)}")


def _say_summary(
    options: ReplayOptions, summary: dict[str, Any], check: Check | None, names: Mapping[int, str]
) -> None:
    if options.json:
        emit(summary if check is None else {**summary, "check": check.as_json()})
        return
    size, lasted = byte_size(summary["bytes"]), rounded(int(summary["seconds"] * 1e9))
    print(f"{count(summary['frames'])} frames, {size} in {lasted}; ", end="")
    print(f"position {summary['position']}")
    for each in summary["streams"]:
        for cause, left_out in each["left_out"].items():
            print(f"  stream {stream_text(each['stream'], names)}: {count(left_out)} frames left out: {cause}")
    for stream, unread in summary["unread"].items():
        print(f"  stream {stream_text(int(stream), names)}: {Unread(**unread)}")
    _say_damage(summary)
    for note in notes(**{key: summary[key] for key in ("not_timed", "not_decoded", "as_bytes")}):
        print(f"  {note}")
    late = summary["late_ns"]
    if late["p50"] is not None:
        print(f"  late by {rounded(late['p50'])} in the median, p99 {rounded(late['p99'])}")
    if check is not None:
        print(check)
