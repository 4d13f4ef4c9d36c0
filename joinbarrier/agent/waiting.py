# SPDX-License-Identifier: Apache-2.0
"""Explains a join that makes no rows: which input it waits for, since when, how far behind that is, and what was
lost."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from typing import Any, Final

from framegate.joinbarrier.agent.clock_domains import misnamed, stamped_by
from framegate.joinbarrier.config.configuration import JoinConfig
from framegate.schema.merge import ClockDomain
from framegate.shmpool.client.stream_names import stream_text

QUIET_NS: Final = 2_000_000_000
"""After this long without a row, the join says why."""
AGAIN_NS: Final = 10_000_000_000
NO_MAP: Final = "no_map"
"""The reason word for an output whose map nobody has announced. Other words are the reasons of a refusal."""
STALL_NS: Final = 8_000_000
"""The time for which an agent may not get to run. A ring should hold what a producer writes meanwhile."""


class Watch:
    """Watches the engine's status, and returns lines for the log. Pure.

    ``names`` gives the streams that are known by name. They help to find a misspelt stream name.
    """

    def __init__(self, config: JoinConfig, names: Callable[[], Mapping[int, str]] = dict) -> None:
        self._config = config
        self._known_names = names
        self._names = [each.name for each in config.input]
        self._rows = -1
        self._last_row_ns: int | None = None
        self._said_ns: int | None = None
        self._said_full = False
        self._dropped_early = 0
        self._said_dropped_ns: int | None = None
        self._misnamed: set[int] = set()
        """The inputs whose clock was already reported as wrong."""
        self._wanted: dict[int, int] = {}
        """For each input, the size that the last advice named."""

    def look(self, status: dict[str, Any], outcome: dict[str, Any], now_ns: int) -> list[str]:
        """The lines to log at this moment. A new row starts the waiting anew."""
        return [
            *self._full_lines(outcome),
            *self._dropped(status, now_ns),
            *self._quiet_lines(status, outcome, now_ns),
            *self._cramped_lines(status),
        ]

    def clocks(self, status: dict[str, Any], declared: ClockDomain | None, now: tuple[int, int]) -> list[str]:
        """A line for each input whose timestamps are years from the declared clock, once; ``now`` is the time by
        both."""
        lines = []
        for index, each in enumerate(status["inputs"] if declared is not None else ()):
            time_ns = each["last_time_ns"]
            found = None if time_ns is None or index in self._misnamed else stamped_by(time_ns, *now)
            if declared is not None and found not in (None, declared):
                assert found is not None  # noqa: S101
                self._misnamed.add(index)
                lines.append(misnamed(self._names[index], time_ns, declared, found))
        return lines

    def waited_for(self, status: dict[str, Any], now_ns: int) -> list[dict[str, str]]:
        """What the next output waits for: inputs by name, or its map, each with a text that explains it."""
        if not status["has_map"]:
            return [{"name": "map", "text": self._blocked(status.get("blocked", NO_MAP))}]
        return self._waiting(status, now_ns)

    def _waiting(self, status: dict[str, Any], now_ns: int) -> list[dict[str, str]]:
        return [
            {"name": self._names[each["input"]], "text": self._waits(each, status["inputs"], now_ns)}
            for each in status["waiting"]
        ]

    def _full_lines(self, outcome: dict[str, Any]) -> list[str]:
        if outcome["is_full"] and not self._said_full:
            self._said_full = True
            limit = self._config.journal.max_bytes
            return [
                f"the journal is full ({outcome['full_reason']}; max_bytes is {limit}): inputs wait in their rings "
                "until a reader has committed or there is room again; what the rings overwrite meanwhile is counted"
            ]
        if not outcome["is_full"] and self._said_full:
            self._said_full = False
            return ["the journal has room again: the join goes on"]
        return []

    def _dropped(self, status: dict[str, Any], now_ns: int) -> list[str]:
        """The lines for rows that retention dropped although the journal is below its bound."""
        dropped = status["rows_dropped_early"]
        is_said = self._said_dropped_ns is not None and now_ns - self._said_dropped_ns < AGAIN_NS
        if dropped == self._dropped_early or is_said:
            return []
        self._dropped_early, self._said_dropped_ns = dropped, now_ns
        return [
            f"the file system has no room for another segment: {dropped} rows were dropped although the journal has "
            f"not reached max_bytes = {self._config.journal.max_bytes}; row {status['first_row']} is now its first. "
            "Free room there, or set max_bytes to what it can have"
        ]

    def _quiet_lines(self, status: dict[str, Any], outcome: dict[str, Any], now_ns: int) -> list[str]:
        if status["rows"] != self._rows or self._last_row_ns is None:
            self._rows, self._last_row_ns, self._said_ns = status["rows"], now_ns, None
            return []
        if now_ns - self._last_row_ns < QUIET_NS or outcome["is_full"] or outcome["is_finished"]:
            return []
        if self._said_ns is not None and now_ns - self._said_ns < AGAIN_NS:
            return []
        self._said_ns = now_ns
        quiet = f"no row for {(now_ns - self._last_row_ns) / 1e9:.1f} s"
        if not status["has_map"]:
            return [f"{quiet}: {self._blocked(status.get('blocked', NO_MAP))}"]
        waits = [each["text"] for each in self._waiting(status, now_ns)]
        if not waits:
            return [f"{quiet}: no input brings frames that make an output"]
        out = "the first output" if status["out"] is None else f"out {status['out']}"
        return [f"{quiet}: {out} waits for {'; '.join(waits)}"]

    def _blocked(self, reason: str) -> str:
        stream = self._config.join.out_stream
        out_stream = stream_text(stream, self._known_names())
        if reason == NO_MAP:
            return (
                f"no valid map of output {out_stream} was announced yet; its authority may not run "
                "(framegate mergemap serve FILE)"
            )
        return f"output {out_stream} is blocked ({reason}): the newest announced map was refused"

    def _waits(self, each: dict[str, Any], inputs: list[dict[str, Any]], now_ns: int) -> str:
        name, known = self._names[each["input"]], inputs[each["input"]]
        if known["older_epoch"] is not None:
            of, came = known["older_epoch"]
            return (
                f"{name} (its frames are of epoch {came}, but the later epoch {of} is known already: its driver "
                "restarted its count, or the wall clock went back; --new-epoch sets the rows aside and begins anew)"
            )
        if known["is_ended"] and known["last_seq"] is None:
            return f"{name} (it has ended, and nothing more comes of it until its producer begins anew)"
        if known["last_seq"] is None:
            return f"{name} (nothing was seen of it yet{self._likely_name(each['input'])})"
        said = [f"last seq {known['last_seq']}"]
        if known["last_time_ns"] is not None:
            said.append(f"time {known['last_time_ns']}")
        if known["last_at_ns"] is not None:
            said.append(f"{(now_ns - known['last_at_ns']) / 1e9:.1f} s ago")
        if each["missing"]:
            said.append(f"{each['missing']} {'frames' if self._is_by_sequence(each) else 'ns'} short")
        if known["is_ended"]:
            said.append("ended")
        if each["reason"] == "rejected":
            said.append("rejected, because its timestamps went back")
        return f"{name} ({', '.join(said)}){self._why_never_met(each, inputs)}"

    def _likely_name(self, index: int) -> str:
        """The stream that was probably meant, if another one has a similar name."""
        own = {each.stream for each in self._config.input}
        names = self._known_names()
        wanted = names.get(self._config.input[index].stream)
        others = [name for stream, name in names.items() if stream not in own]
        near = difflib.get_close_matches(wanted, others, 1) if wanted is not None else []
        return f"; did you mean the stream {near[0]}?" if near else ""

    def _is_by_sequence(self, each: dict[str, Any]) -> bool:
        join = self._config.join.policy
        return join == "sequence" or (join == "timestamp" and self._config.input[each["input"]].offset is not None)

    def _why_never_met(self, each: dict[str, Any], inputs: list[dict[str, Any]]) -> str:
        """A hint for an input that began anew and counts from 0: the frames of its partners are long overwritten."""
        if not self._is_by_sequence(each):
            return ""
        ahead = [other for other in range(len(inputs)) if (each["missing"] or 0) > inputs[other]["holds"] > 0]
        names = " and ".join(self._names[other] for other in ahead if other != each["input"])
        if not names:
            return ""
        return (
            f", further behind than frames of {names} can wait: at the same pace they never meet. When one producer "
            'began anew start the others again too, or join by time (policy = "timestamp")'
        )

    def _cramped_lines(self, status: dict[str, Any]) -> list[str]:
        """The lines for frames that found no space to wait: the skew is larger than ring and memory together."""
        lines = []
        for index, each in enumerate(status["inputs"]):
            depth = max(each["ahead"] or 0, each["pending"])
            line = self._room_wanted(index, each, depth * 5 // 4)
            if line is not None:
                came = f"{depth} newer frames came while one waited for its partners"
                lines.append(f"{self._names[index]}: {came}, {line}")
        return lines

    def _room_wanted(self, index: int, each: dict[str, Any], frames: int) -> str | None:
        """The setting to raise, if it is more than was advised before."""
        join = self._config.join
        is_copied = join.pending != "ring"
        if not (each["refused"] if is_copied else each["overwritten"]) or frames < each["holds"]:
            return None
        wanted = frames * each["frame_bytes"] if is_copied else frames
        wanted = 1 << max(wanted, join.pending_bytes if is_copied else each["holds"]).bit_length()
        if wanted <= self._wanted.get(index, 0):
            return None
        self._wanted[index] = wanted
        if is_copied:
            size = f"{join.pending_bytes} bytes hold no more copies, and what finds no room is overwritten in its ring"
            return f'{size}. Set pending_bytes = "{-(-wanted >> 20)}MiB" or more'
        size = f"and it was overwritten: its ring has {each['holds']} slots"
        return f'{size}. Set pending = "auto", or give the stream {wanted} slots or more (framegate driver --slots)'
