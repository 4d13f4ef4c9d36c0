# SPDX-License-Identifier: Apache-2.0
"""Random joins: a configuration, and a script of what a stage is told and asked. A player keeps account of frames."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

from framegate.joinbarrier.journal.causes import Cause
from framegate.schema.merge import TimestampSource
from framegate.spec.join.stage_config import Attempt
from framegate.spec.join.unmatched import Unmatched
from hypothesis import strategies as st

from tests.joins.stage_rules import RuledConfig, RuledInput
from tests.joins.stage_world import Implementation, NativeStage, make_stage, recall

STREAMS = 3
Op = tuple[Any, ...]


def _inputs(policy: str) -> st.SearchStrategy[RuledInput]:
    by_time = policy == "timestamp"
    return st.builds(
        _input,
        stream=st.integers(1, STREAMS),
        rule=st.one_of(st.integers(-20 if by_time else -3, 20 if by_time else 3), st.none()),
        window=st.integers(1, 30 if by_time else 4),
        tolerance_ns=st.one_of(st.none(), st.integers(0, 25)) if by_time else st.none(),
        source=st.sampled_from(TimestampSource),
        pick=st.sampled_from(["newest", "nearest", "latest", "sequence"]) if by_time else st.just("newest"),
        seq_offset=st.integers(-3, 3),
        reuse=st.booleans(),
        deadline_ns=st.sampled_from([0, 0, 0, 15]),
        optional=st.sampled_from([False, False, False, True]),
        processed=st.sampled_from([False, False, False, False, True]),
        drops_regressed=st.booleans(),
    )


def _input(*, rule: int | None, window: int, tolerance_ns: int | None, **rest: Any) -> RuledInput:
    if rule is None:
        return RuledInput(window=window, **rest)
    return RuledInput(offset=rule, tolerance_ns=tolerance_ns, **rest)


@st.composite
def configs(draw: st.DrawFn, policy: str | None = None) -> RuledConfig:
    """Any join whose driving input is not optional."""
    policy = policy or draw(st.sampled_from(["sequence", "timestamp", "latest", "union"]))
    inputs = draw(st.lists(_inputs(policy), min_size=1, max_size=4))
    drives = {
        "sequence": ["counter", "counter", "input"],
        "timestamp": ["input", "input", "clock", "watermark", "external"],
        "latest": ["counter", "input", "clock", "watermark", "external"],
        "union": ["counter"],
    }
    drive_input = draw(st.integers(0, len(inputs) - 1))
    inputs[drive_input] = _required(inputs[drive_input])
    drive = draw(st.sampled_from(drives[policy]))
    inputs = [
        _pickable(each, is_anchored=drive == "input", is_anchor=place == drive_input)
        for place, each in enumerate(inputs)
    ]
    order_by = draw(st.sampled_from(["seq", "timestamp"])) if policy == "latest" else "seq"
    if order_by == "timestamp":
        # Ordered by time, a stream has one source.
        inputs = [_replaced(each, source=TimestampSource.SLOT_HEADER) for each in inputs]
    return RuledConfig(
        policy=policy,  # type: ignore[arg-type]
        inputs=tuple(inputs),
        drive=drive,  # type: ignore[arg-type]
        drive_input=drive_input,
        period_ns=draw(st.integers(5, 20)),
        first=draw(st.one_of(st.none(), st.integers(0, 6))) if policy == "sequence" else None,
        late=draw(st.sampled_from(["drop", "stall"])),
        order_by=order_by,  # type: ignore[arg-type]
        max_skew_ns=draw(st.sampled_from([0, 0, 0, 12])),
        max_age_ns=draw(st.sampled_from([0, 0, 0, 18])),
        out_epoch=draw(st.sampled_from([0, 4])),
        history=draw(st.sampled_from([64, 64, 3])),
    )


def _pickable(each: RuledInput, *, is_anchored: bool, is_anchor: bool) -> RuledInput:
    """The sequence that decides is the anchor's, and the anchor's own frames are not picked."""
    may_be = each.pick in ("newest", "nearest") or (not is_anchor and (is_anchored or each.pick == "latest"))
    return each if may_be else _replaced(each, pick="newest")


def _required(each: RuledInput) -> RuledInput:
    return _replaced(each, optional=False)


def _replaced(each: RuledInput, **changes: Any) -> RuledInput:
    return replace(each, **changes)


def scripts() -> st.SearchStrategy[list[Op]]:
    """What a stage is told and asked, most of it frames and questions."""
    stream = st.integers(1, STREAMS)
    time = st.one_of(st.integers(0, 12), st.integers(0, 12), st.integers(0, 12), st.just(-5), st.none())
    frame = st.tuples(st.just("frame"), stream, st.sampled_from([1, 1, 1, 1, 2, 3, 0]), time, time)
    ask = st.tuples(st.just("next"), st.integers(1, 6), st.lists(st.integers(0, 9), max_size=4))
    seldom = st.one_of(
        st.tuples(st.just("lost"), stream, st.integers(0, 2)),
        st.tuples(st.just("lapped"), stream, st.integers(0, 4), st.integers(0, 4)),
        st.tuples(st.just("missed"), stream, st.integers(0, 2), st.integers(0, 5)),
        st.tuples(st.just("older"), stream, st.integers(1, 2)),
        st.tuples(st.just("epoch"), stream),
        st.tuples(st.just("ended"), stream),
        st.tuples(st.just("map"), st.one_of(st.none(), st.integers(5, 30)), st.integers(0, 15)),
        st.tuples(st.just("invalidate")),
        st.tuples(st.just("huge"), stream, st.sampled_from(["seq", "time"])),
        st.tuples(st.just("drain"), st.integers(1, 3)),
    )
    often = st.one_of(
        st.tuples(st.just("wait"), st.integers(1, 20)),
        st.tuples(st.just("watermark"), stream, st.integers(-1, 12)),
        st.tuples(st.just("push"), st.integers(-2, 15)),
        st.tuples(st.just("processed"), stream),
    )
    return st.lists(st.one_of(frame, frame, frame, frame, ask, ask, often, seldom), min_size=5, max_size=60)


@dataclass
class Account:
    """What became of the frames of one input: (epoch, seq)."""

    told: Counter[tuple[int, int]] = field(default_factory=Counter)
    joined: Counter[tuple[int, int]] = field(default_factory=Counter)
    unmatched: Counter[tuple[int, int]] = field(default_factory=Counter)


@dataclass
class Stream:
    """What the producer of a stream has sent."""

    epoch: int = 1
    last: dict[int, int] = field(default_factory=dict)
    time: int = 30

    def following(self, gap: int, epoch: int | None = None) -> int:
        epoch = self.epoch if epoch is None else epoch
        self.last[epoch] = max(0, self.last.get(epoch, -1) + gap)
        return self.last[epoch]


class Player:
    """Plays a script on one stage and logs every answer."""

    def __init__(self, impl: Implementation, config: RuledConfig) -> None:
        self.impl, self.config = impl, config
        self.stage = make_stage(impl, config)
        self.accounts = [Account() for _ in config.inputs]
        self.streams = {stream: Stream() for stream in config.streams}
        self.now_ns = 100
        self.log: list[Any] = []
        self.attempt: Attempt | None = None
        self.play(("map", None, 0))

    def play(self, op: Op) -> None:
        """One line of a script; lines about a stream that is no input do nothing."""
        kind, *rest = op
        if rest and kind in (
            "frame",
            "lost",
            "lapped",
            "missed",
            "older",
            "epoch",
            "ended",
            "huge",
            "watermark",
            "processed",
        ):
            if rest[0] not in self.streams:
                return
            rest[0:1] = [rest[0], self.streams[rest[0]]]
        self.log.append((kind, getattr(self, f"_{kind}")(*rest)))

    def _frame(self, stream: int, state: Stream, gap: int, slot: int | None, descriptor: int | None) -> bool:
        seq = state.following(gap)
        state.time += max(slot or 0, descriptor or 0, 0)
        times = [None if step is None else state.time + min(step, 0) for step in (slot, descriptor)]
        is_new = self.stage.observe(stream, state.epoch, seq, times[1], times[0], seq * 3, self.now_ns)
        if is_new:
            self._tell(stream, state.epoch, seq, seq)
        return bool(is_new)

    def _lost(self, stream: int, state: Stream, gap: int) -> bool:
        seq = state.following(gap)
        is_new = self.stage.observe_lost(stream, state.epoch, seq, self.cause("overwritten"), self.now_ns)
        if is_new:
            self._tell(stream, state.epoch, seq, seq)
        return bool(is_new)

    def _lapped(self, stream: int, state: Stream, behind: int, gone: int) -> None:
        resume_at = max(0, state.last.get(state.epoch, -1) + 1 - behind)
        self.stage.lost_below(stream, state.epoch, max(0, resume_at - gone), resume_at)

    def _missed(self, stream: int, state: Stream, gap: int, more: int) -> None:
        known = state.last.get(state.epoch, -1)
        first = max(0, known + gap)
        state.last[state.epoch] = max(known, first + more)
        self.stage.missed(stream, state.epoch, first, first + more, self.now_ns)
        self._tell(stream, state.epoch, max(first, known + 1), first + more)

    def _older(self, stream: int, state: Stream, gap: int) -> bool:
        if state.epoch == 1:
            return False
        seq = state.following(gap, state.epoch - 1)
        self._tell(stream, state.epoch - 1, seq, seq)
        return bool(self.stage.observe(stream, state.epoch - 1, seq, 5, 5, 0, self.now_ns))

    def _huge(self, stream: int, state: Stream, what: str) -> bool:
        # A sequence that is refused is not one of the stream's.
        seq = 2**63 + len(self.log) if what == "seq" else state.following(1)
        self._tell(stream, state.epoch, seq, seq)
        return bool(self.stage.observe(stream, state.epoch, seq, 2**63, 2**63, 0, self.now_ns))

    def _epoch(self, stream: int, state: Stream) -> None:
        state.epoch += 1
        state.time = 30
        self._frame(stream, state, 1, 0, 0)

    def _ended(self, stream: int, state: Stream) -> None:
        self.stage.ended(stream, state.epoch, self.now_ns)

    def _map(self, stale_timeout_ns: int | None, lateness_ns: int) -> Any:
        if self.config.policy == "union":
            return None
        wanted = self.stage.wants_map()
        if wanted is None:
            return None
        lateness_ns = lateness_ns if self.config.reads_times else 0
        return self.stage.apply(self.config.map(wanted, stale_timeout_ns, lateness_ns), 7)

    def _invalidate(self) -> None:
        self.stage.invalidate()

    def _drain(self, count: int) -> list[Unmatched]:
        taken: list[Unmatched] = self.stage.take_unmatched(count)
        for each in taken:
            for seq in range(each.seq, each.seq_last + 1):
                self.accounts[each.input].unmatched[each.epoch, seq] += 1
        return taken

    def _wait(self, ns: int) -> None:
        self.now_ns += ns
        self.stage.tick(self.now_ns, self.now_ns)

    def _watermark(self, stream: int, state: Stream, ms: int) -> None:
        self.stage.watermark(stream, ms, self.now_ns)

    def _push(self, step: int) -> bool:
        return bool(self.stage.push_time(max(0, self.now_ns - 60 + step)))

    def _processed(self, stream: int, state: Stream) -> None:
        self.stage.processed(stream, state.epoch, state.last.get(state.epoch, 0), state.time, state.time)

    def _next(self, limit: int, failing: list[int]) -> list[Any]:
        seen: list[Any] = []
        for turn in range(limit):
            attempt = self.stage.next(self.now_ns)
            seen.append(attempt)
            if attempt is None:
                break
            bad = failing[turn % len(failing)] if failing else 99
            if bad < len(attempt.picks) and not isinstance(attempt.picks[bad], str):
                self.stage.failed(bad, self.cause("overwritten"), self.now_ns)
                continue
            self.stage.joined(self.now_ns)
            for account, pick in zip(self.accounts, attempt.picks, strict=True):
                if not isinstance(pick, str):
                    account.joined[pick.epoch, pick.seq] += 1
        return seen

    def _finish(self) -> None:
        self.stage.finish(self.now_ns)
        self._drain(1_000_000)

    def _resume(self) -> str:
        """A new stage goes on from the state; what waited has to be observed again."""
        state: str = self.stage.state()
        self.stage = make_stage(self.impl, self.config, state)
        self._map(None, 0)
        return state

    def _restore(self) -> tuple[str, Any, Any]:
        """A new stage goes on from the state, and is given back what the old one stood on."""
        state: str = self.stage.state()
        waiting, rest = self.stage.waiting(), self.stage.rest()
        self.stage = make_stage(self.impl, self.config, state)
        recall(self.stage, waiting, rest, self.now_ns)
        self._map(None, 0)
        # Whoever has a stage tells it the time in each turn; a new one has been told none.
        self._wait(0)
        return state, waiting, rest

    def cause(self, name: str) -> Any:
        """A cause, as the implementation takes it."""
        return name if isinstance(self.stage, NativeStage) else Cause(name)

    def _tell(self, stream: int, epoch: int, first: int, last: int) -> None:
        for each, account in zip(self.config.inputs, self.accounts, strict=True):
            if each.stream == stream:
                account.told.update((epoch, seq) for seq in range(first, last + 1))
