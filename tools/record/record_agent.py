# SPDX-License-Identifier: Apache-2.0
"""The recorder: the client's thread keeps leases and regions, and a native engine reads and writes without Python.

The recorder subscribes untethered and reads each slot once. If it cannot keep up it loses frames and reports them; it
never slows the producers.
"""

from __future__ import annotations

import json
import threading
from typing import Any, Final

from framegate.joinbarrier.agent.join_input import HeardStreams, JoinInput
from framegate.recording.stream_names import note_of
from framegate.shmpool.client.client import Client
from framegate.shmpool.client.link import Link
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.stop_signal import StopSignal
from framegate.tools.record.options import CHUNK_BYTES, CHUNK_NS, QUEUE_BYTES, RecordOptions

from framegate._native import JoinMailbox, RecordEngine

_SLICE_NS: Final = 20_000_000
_CARE_NS: Final = 100_000_000


class _RecordedStreams(HeardStreams):
    """The streams of a recording: also the control, announce, QoS and metadata streams, if wanted."""

    def __init__(self, mailbox: JoinMailbox, *, with_control: bool) -> None:
        super().__init__(mailbox)
        self._with_control = with_control

    def hear(self, link: Link, descriptor_stream: int | None) -> None:
        is_new = link is not self._link
        super().hear(link, descriptor_stream)
        if is_new and self._with_control:
            streams = link.streams
            for stream in (streams.control, streams.announce, streams.qos, streams.metadata):
                super().hear(link, stream)


class RecordAgent:
    """One recording. Call ``attach``, then ``work`` until it returns False, then ``close``."""

    def __init__(self, client: Client, options: RecordOptions) -> None:
        self._client = client
        self._options = options
        mailbox = JoinMailbox(options.streams)
        heard_streams = _RecordedStreams(mailbox, with_control=options.control)
        self._inputs = [
            JoinInput(client, stream, heard_streams, client.descriptor_stream(stream, None))
            for stream in options.streams
        ]
        self.began_ns = monotonic_ns()
        self._engine = RecordEngine(
            mailbox,
            options.out,
            payload=options.payload,
            compression=options.compression,
            chunk_bytes=CHUNK_BYTES,
            queue_bytes=options.queue_bytes or QUEUE_BYTES[options.payload],
            chunk_ns=CHUNK_NS,
            frames=options.frames,
            notes=[
                ("control", str(options.control).lower()),
                ("compression", options.compression),
                *note_of(client.names.known(), options.streams),
            ],
        )
        # From here on frames are read as they come, so producers that wait for consumers may begin.
        heard_streams.is_read = True
        self._care_at_ns = 0
        self._ends_at_ns: int | None = None

    def attach(self, stop: StopSignal) -> None:
        """Attach to every stream. Frames are recorded from now on. If a stream is refused, nothing is left."""
        failures: list[BaseException] = []

        def attach_all() -> None:
            try:
                for each in self._inputs:
                    self._client.attach(each)
            except BaseException as failure:  # it is raised again on the other thread
                failures.append(failure)

        attaching = threading.Thread(target=attach_all, name="framegate-attach", daemon=True)
        attaching.start()
        try:
            while attaching.is_alive() and not stop.is_set:
                self._engine.run(_SLICE_NS)
                attaching.join(0)
            if failures:
                raise failures[0]
        except BaseException:
            self._engine.finish()
            self._options.out.unlink(missing_ok=True)
            raise
        if self._options.seconds is not None:
            self._ends_at_ns = monotonic_ns() + int(self._options.seconds * 1e9)

    def work(self) -> bool:
        """Run one slice. Returns False once everything wanted is recorded, or the disk takes nothing more."""
        outcome = self._engine.run(_SLICE_NS)
        now_ns = monotonic_ns()
        if now_ns >= self._care_at_ns:
            self._care_at_ns = now_ns + _CARE_NS
            for each in self._inputs:
                ended = each.ended(now_ns)
                if ended is not None:
                    self._engine.note_end(each.stream_id, *ended)
        if outcome["has_failed"] or outcome["has_all_frames"]:
            return False
        if outcome["has_ended"] and not self._options.through_ends:
            return False
        return self._ends_at_ns is None or now_ns < self._ends_at_ns

    def totals(self) -> dict[str, Any]:
        """The totals of what was recorded so far."""
        return self._engine.totals()

    def close(self) -> dict[str, Any]:
        """Write the end of the file, and give the leases back. Returns the summary."""
        try:
            ended = self._engine.finish()
        finally:
            for each in self._inputs:
                each.close()
        false = {each.stream_id: each.counters().get("false_descriptors", 0) for each in self._inputs}
        streams = [json.loads(text) for text in ended.pop("accounts")]
        streams = [{**each, "false_descriptors": false.get(each["stream"], 0)} for each in streams]
        return {
            "event": "summary",
            "file": str(self._options.out),
            "seconds": round((monotonic_ns() - self.began_ns) / 1e9, 6),
            **ended,
            "false_descriptors": sum(false.values()),
            "streams": streams,
        }
