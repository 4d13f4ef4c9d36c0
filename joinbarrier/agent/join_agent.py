# SPDX-License-Identifier: Apache-2.0
"""The join agent: inputs, map and journal around a native engine that joins without Python.

The engine runs in slices on the agent's thread. Between slices the agent does the rare duties: it applies maps, looks
whether readers let the journal go on, passes on ends whose messages were missed, and reports what the join waits for.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from functools import partial
from itertools import cycle
from typing import Any, Final

from framegate.joinbarrier.agent.checkpoints import JoinCheckpoints, member_of
from framegate.joinbarrier.agent.clock_domains import foreign_streams, is_needed, refusal, without
from framegate.joinbarrier.agent.control_signals import ControlSignals
from framegate.joinbarrier.agent.duties import apply_map, external_times, push_times, summary_of
from framegate.joinbarrier.agent.former_output import FormerRun, Tail, goes_on_from
from framegate.joinbarrier.agent.join_input import HeardStreams, JoinInput
from framegate.joinbarrier.agent.notice import Notice
from framegate.joinbarrier.agent.plan import engine_plan
from framegate.joinbarrier.agent.rejected_inputs import look_at_rejections
from framegate.joinbarrier.agent.republish import End, Republisher
from framegate.joinbarrier.agent.restoring import RestoreOptions, Resumption, chosen_of, open_engine, own_part
from framegate.joinbarrier.agent.waiting import NO_MAP, Watch
from framegate.joinbarrier.checkpoint.operator.member import CheckpointMember, Heard
from framegate.joinbarrier.checkpoint.restore.store import announced_store
from framegate.joinbarrier.checkpoint.restore_choice import Chosen
from framegate.joinbarrier.config.configuration import JoinConfig
from framegate.joinbarrier.config.contradiction import contradiction
from framegate.joinbarrier.config.policies import POLICIES
from framegate.joinbarrier.journal.doorbell import bell_name, take_away
from framegate.joinbarrier.journal.folder import JournalFolder
from framegate.joinbarrier.journal.reader_watch import ReaderWatch
from framegate.joinbarrier.maps.client import Apply, ClientAction, Invalidate, MapClient, Refused
from framegate.joinbarrier.maps.exchange import MapExchange
from framegate.joinbarrier.maps.mergemap import MergeMap
from framegate.schema.errors import FramegateError, InputRestarted, JoinError, JournalFailed, MapRefused
from framegate.schema.merge import ClockDomain
from framegate.shmpool.client.client import Client
from framegate.shmpool.clock import monotonic_ns, realtime_ns
from framegate.shmpool.idle import sleep_ns

from framegate._native import JoinEngine, JoinMailbox

SLICE_NS: Final = 20_000_000
"""How long a slice of the engine is. Rare duties wait for its end; descriptors and rows do not."""
_DUTY_NS: Final = 33_000_000
"""The time between two rare duties. Each of them is done ten times a second."""
_LOOK_AGAIN_NS: Final = 5_000_000
_LAST_ROWS_NS: Final = 1_000_000_000
"""How long a join that is told to end goes on joining what was sent before."""
_log = logging.getLogger(__name__)


class JoinAgent:
    """One join. Call ``attach``, then ``work`` until it returns False, then ``close``."""

    def __init__(
        self, client: Client, config: JoinConfig, folder: JournalFolder, restore: RestoreOptions | None = None
    ) -> None:
        self.client = client
        self._restore = restore or RestoreOptions()
        self._resumption = Resumption()
        self.config = config
        self.folder = folder
        self.outputs = config.join.outputs
        self.first_row = 0
        streams = list(dict.fromkeys(each.stream for each in config.input))
        self.mailbox = JoinMailbox(streams)
        wanted = {each.stream: each.descriptor_stream for each in config.input}
        self._heard_streams = HeardStreams(self.mailbox)
        self.inputs = [
            JoinInput(client, stream, self._heard_streams, client.descriptor_stream(stream, wanted[stream]))
            for stream in streams
        ]
        self._engine: JoinEngine | None = None
        self.began_ns = monotonic_ns()
        self._exchange: MapExchange | None = None
        self._follows: MapClient | None = None
        self._actions: deque[ClientAction] = deque()
        self._external = external_times(config)
        self._republisher: Republisher | None = None
        self._checkpoints: JoinCheckpoints | None = None
        self._signals: ControlSignals | None = None
        self._readers: ReaderWatch | None = None
        self._watch = Watch(config, client.names.by_number)
        self._notice = Notice(client.allowed[0], config, folder.path)
        self._duty_at_ns = 0
        self._rare_duties = (self._ring_in_ends, self._serve_readers, self._explain)
        self._next_duty = cycle(self._rare_duties)
        self._applied: MergeMap | None = None
        """The newest announced map that could be applied."""
        self._foreign: dict[int, ClockDomain] = {}
        """Streams left out because their frames are stamped by another clock than the map declares."""
        self._has_applied = False
        """Whether this run has applied a map. Until then, a map that contradicts the file ends the join as
        misconfigured."""
        self._blocked = NO_MAP
        """Why no map is in force, in one word."""
        self._rung: list[str] = []
        self._end: End | None = None
        self.has_begun = False
        """Whether ``attach`` has finished."""
        self.failure: FramegateError | None = None
        """Why ``close`` could not write all that was pending. The summary reports what was joined all the same."""

    # --- beginning -----------------------------------------------------------------------------------------

    def attach(self, wait: Callable[[], None] | None = None) -> None:
        """Attach to every input, open the journal, and get the map; the join is ready afterwards.

        ``wait`` lets a little time pass while a coordinator is awaited; it may raise.
        """
        self._notice.begin()
        # Before the inputs: what they send from the attach on is read only when the engine runs.
        member, heard, chosen = self._chosen(wait or _wait_a_little)
        for each in self.inputs:
            self.client.attach(each)
        plan = engine_plan(self.config)
        self.folder.begin()
        self._engine, self._resumption = open_engine(self.mailbox, plan, self.config, self.folder, chosen)
        self._readers = ReaderWatch(self.folder.path, self.folder.info)
        recovered = self.engine.recovered()
        self.first_row = recovered["next_row"]
        if recovered["next_row"]:
            _log.info("%s: goes on at row %d", self.folder.path, recovered["next_row"])
        if recovered["is_spent"]:
            names = ", ".join(f"{each.name} (stream {each.stream})" for each in self.config.input)
            _log.warning(
                "%s: every input had ended when it was closed: goes on behind row %d, and waits for producers of %s",
                self.folder.path,
                recovered["next_row"],
                names,
            )
        if recovered["cut_batches"]:
            _log.warning("%s: cut %d batches that were not whole", self.folder.path, recovered["cut_batches"])
        self._checkpoints = JoinCheckpoints(self.client, self.config, self.folder, self.engine, member)
        self._checkpoints.obey_all(heard)
        join = self.config.join
        self._signals = ControlSignals(self.client, join.pipeline, join.control_upstreams)
        former = self._former(chosen, wait or _wait_a_little)
        self._republisher = Republisher.of(self.client, self.config, self.engine, self.folder.path, self.inputs, former)
        if POLICIES[self.config.join.policy].needs_map:
            self._exchange = MapExchange(self.client, announce_period_ns=self.config.mergemap.announce_ms * 1_000_000)
        self._new_out_epoch()
        self._note_joined()
        self._begin_to_listen()
        self.has_begun = True

    def _begin_to_listen(self) -> bool:
        """Tell waiting producers that they are heard. Returns False while consumers of the join's own output are
        awaited."""
        if self._heard_streams.is_read:
            return True
        is_time = self._republisher is None or self._republisher.catch_up()
        if self._checkpoints is not None:
            # Other operators wait for the checkpoint that is under way, so this one must not take part in it.
            self._checkpoints.sit_out()
        self._heard_streams.is_read = is_time
        return is_time

    def _former(self, chosen: Chosen | None, wait: Callable[[], None]) -> FormerRun | None:
        """What an earlier run has published; None if this is the first run."""
        if self._restore.wanted is None:
            return FormerRun(wait=partial(_waited, wait)) if self.first_row else None
        tail = Tail(epoch=self.folder.epoch, out_epoch=self.engine.out_epoch())
        go_sources_on = all(each.goes_on for each in self.inputs)
        head = None if chosen is None else chosen.head
        from_row = goes_on_from(self.config, head, tail, go_sources_on=go_sources_on)
        return FormerRun(wait=partial(_waited, wait), from_row=from_row)

    def _chosen(self, wait: Callable[[], None]) -> tuple[CheckpointMember | None, list[Heard], Chosen | None]:
        """The checkpoint to restore, if any; and the member and messages of the pipeline that told where it is
        stored."""
        wanted, place = self._restore.wanted, self._restore.store
        if wanted is None:
            return None, [], None
        if place is not None:
            return None, [], chosen_of(place, wanted, own_part(self.config))
        member = member_of(self.client, self.config, 0)
        try:
            place, heard = announced_store(member, wait)
            return member, heard, chosen_of(place, wanted, own_part(self.config))
        except BaseException:
            member.close()
            raise

    def _new_out_epoch(self) -> None:
        """Get the map for the output's new epoch."""
        epoch = self.engine.out_epoch()
        self._blocked = NO_MAP
        exchange = self._exchange
        if exchange is None:
            return
        if self.config.mergemap.serve:
            own = self.config.merge_map(epoch)
            assert own is not None  # noqa: S101  (only a union has none, and it has no exchange)
            exchange.own(own)
            self._apply(own)
        elif self._follows is None:
            self._follows = MapClient(self.config.join.out_stream, epoch, self.config.map_kinds)
            exchange.follow(self._follows, self._actions.append)
        else:
            exchange.new_epoch(self._follows, epoch)

    def _apply(self, applied: MergeMap) -> None:
        self._put_in_force(applied)
        self._applied, self._foreign, self._has_applied = applied, {}, True
        self._check_clocks()

    def _put_in_force(self, applied: MergeMap) -> None:
        version = apply_map(self.engine, self.config, self.folder, applied)
        if self._checkpoints is not None:
            self._checkpoints.note_map(version, applied)

    def _check_clocks(self) -> None:
        """Compare clocks: a needed input of a foreign clock ends the join, and others are left out."""
        applied = self._applied
        if applied is None or not self.config.has_timestamp_map or applied.epoch != self.engine.out_epoch():
            return
        foreign = foreign_streams(applied, {each.stream_id: each.clock_domain for each in self.inputs})
        if foreign == self._foreign:
            return
        if is_needed(self.config, foreign):
            raise refusal(self.config, applied, foreign)
        if foreign:
            _log.error("this input is left out: %s", refusal(self.config, applied, foreign))
        self._foreign = foreign
        self._put_in_force(without(applied, foreign))

    def _apply_announced(self, announced: MergeMap) -> None:
        """Apply another authority's map. If it cannot be applied, nothing is joined, and the join goes on asking."""
        assert self._exchange is not None  # noqa: S101  (maps are heard by the exchange alone)
        assert self._follows is not None  # noqa: S101
        if announced.epoch != self.engine.out_epoch():
            # The output has begun a new epoch since, and the map for that one is being requested.
            return
        refused: JoinError | None = contradiction(self.config, announced)
        if refused is not None and not self._has_applied:
            raise refused
        try:
            if refused is None:
                self._apply(announced)
        except MapRefused as bare:
            refused = bare
        if refused is not None:
            self._exchange.refuse(self._follows, announced, refused)

    @property
    def engine(self) -> JoinEngine:
        """The native engine; it exists from ``attach`` to ``close``."""
        if self._engine is None:
            raise JournalFailed("the agent is not attached", journal=str(self.folder.path))
        return self._engine

    # --- working -------------------------------------------------------------------------------------------

    def work(self) -> bool:
        """Run one slice. Returns False once everything has ended."""
        if self._begin_to_listen():
            return self._slice()
        sleep_ns(_LOOK_AGAIN_NS)
        return True

    def join_what_was_sent(self) -> None:
        """Join what was published before this call, as far as it fits together, before the join is told to end."""
        if self._end is not None:
            return
        until_ns = monotonic_ns() + _LAST_ROWS_NS
        self.client.await_turn(_LAST_ROWS_NS)
        self._follow_maps()
        goes_on = self._begin_to_listen()
        if goes_on:
            self._tell_ends()
        while goes_on and (left_ns := until_ns - monotonic_ns()) > 0:
            outcome = self.engine.join_what_was_sent(left_ns, self.outputs)
            if outcome["has_new_epoch"] and self.config.join.on_input_restart == "stop":
                # It is told to end anyway.
                return
            goes_on = self._react(outcome) and any(outcome[each] for each in ("has_news", "has_new_epoch", "is_full"))
            if outcome["is_full"]:
                sleep_ns(_LOOK_AGAIN_NS)

    def _slice(self) -> bool:
        return self._react(self.engine.run(SLICE_NS, self.outputs))

    def _react(self, outcome: dict[str, Any]) -> bool:
        """Do what a slice of the engine calls for. Returns False once everything has ended."""
        now_ns = monotonic_ns()
        self._follow_maps()
        self._check_clocks()
        self._react_to_inputs(outcome)
        if self._external is not None and outcome["needs_time"]:
            push_times(self.engine, self._external)
        if self._checkpoints is not None:
            # Barriers must be forwarded before anything of later rows is published.
            self._checkpoints.work(has_news=outcome["has_news"], republisher=self._republisher)
        if self._republisher is not None:
            self._republisher.work()
        if outcome["is_full"]:
            # The journal is full and nothing is joined until a reader commits, so all rare duties may run at once.
            for care in self._rare_duties:
                care(outcome, now_ns)
        else:
            self._note_joined()
            if now_ns >= self._duty_at_ns:
                self._duty_at_ns = now_ns + _DUTY_NS
                next(self._next_duty)(outcome, now_ns)
        self._end = self._ended_by(outcome)
        return self._end is None and not outcome["has_all_outputs"]

    def _react_to_inputs(self, outcome: dict[str, Any]) -> None:
        """End the join, or go on, when inputs restarted or were rejected."""
        if outcome["has_rejections"]:
            look_at_rejections(self.engine, self.config)
        if outcome["has_new_epoch"]:
            if self.config.join.on_input_restart == "stop":
                raise InputRestarted("an input came back with a new epoch", journal=str(self.folder.path))
            _log.warning("an input came back with a new epoch: out_epoch is now %d", self.engine.out_epoch())
            self._new_out_epoch()

    def _ended_by(self, outcome: dict[str, Any]) -> End | None:
        """The end of this agent, if all inputs have ended or a signal ends it; otherwise None."""
        if outcome["is_finished"]:
            is_barrier, barrier_id = outcome["end"] or (True, 0)
            return End(barrier_id, is_instant=not is_barrier)
        if outcome["is_copying"]:
            # The checkpoint that is being copied came before the end, and belongs to what is stored.
            return None
        return End() if self._signals is not None and self._signals.work() else None

    def _note_joined(self) -> None:
        """Let producers that wait for their readers go on: the engine is idle, and no row waits for space."""
        for each in self.inputs:
            each.note_joined()

    def _follow_maps(self) -> None:
        while self._actions:
            self._follow(self._actions.popleft())

    def _follow(self, action: ClientAction) -> None:
        match action:
            case Apply(found):
                self._apply_announced(found)
            case Invalidate():
                self._applied = None
                self.engine.invalidate()
            case Refused(error):
                self.engine.invalidate()
                self._blocked = str(error.facts.get("reason", "contradiction"))
                _log.warning(
                    "the map of this output is refused, and nothing is joined until another one comes: %s", error
                )

    # --- rare duties, of which one runs at a time; changes wait for their turn ------------------------------

    def _ring_in_ends(self, _outcome: dict[str, Any], now_ns: int) -> None:
        self._resumption.look(self.engine, self.config)
        for each in self.inputs:
            self._tell_end(each.stream_id, each.ended(now_ns))

    def _tell_ends(self) -> None:
        """Tell of every end that a mark says, although some may be too new for ``ended``: nothing more is awaited."""
        for each in self.inputs:
            self._tell_end(each.stream_id, each.newest_mark())

    def _tell_end(self, stream: int, end: tuple[int, int | None] | None) -> None:
        if end is not None:
            self.engine.note_end(stream, *end)

    def _serve_readers(self, _outcome: dict[str, Any], now_ns: int) -> None:
        if self._readers is None:
            return
        found = self._readers.look(now_ns)
        self.engine.set_floor(found.floor)
        if found.living != self._rung:
            self._rung = found.living
            self.engine.set_bells([bell_name(self.folder.path, reader) for reader in found.living])
        take_away(self.folder.path, *found.expired)

    def _explain(self, outcome: dict[str, Any], now_ns: int) -> None:
        status = {**self.engine.status(), "blocked": self._blocked}
        declared = None if self._applied is None or not self.config.has_timestamp_map else self._applied.clock_domain
        clocks = self._watch.clocks(status, declared, (now_ns, realtime_ns()))
        for line in [*clocks, *self._watch.look(status, outcome, now_ns)]:
            _log.warning("%s", line)
        if self._notice.is_due(now_ns):
            self._notice.tell(status["rows"], self._told(status, outcome, now_ns), now_ns)

    def _told(self, status: dict[str, Any], outcome: dict[str, Any], now_ns: int) -> dict[str, Any]:
        """The state of this join, for ``framegate status``."""
        counted = self.engine.counters()
        return {
            "state": "full" if outcome["is_full"] else "joining",
            "next_row": self.first_row + status["rows"],
            "out": status["out"],
            "waits_for": self._watch.waited_for(status, now_ns),
            "unmatched": counted["unmatched"],
            "absent": counted["absent"],
            "checkpoint_id": counted["checkpoints"]["checkpoint_id"],
        }

    # --- ending --------------------------------------------------------------------------------------------

    def close(self) -> dict[str, Any]:
        """Write what is pending, close the journal, and give the leases back. Returns the summary."""
        if self._exchange is not None:
            self._exchange.close()
        try:
            if self._checkpoints is not None and self._engine is not None:
                self._checkpoints.close()
            if self._republisher is not None:
                self._republisher.stop()
            if self._engine is not None:
                self._resumption.look(self._engine, self.config)
                self._tell_ends()
            counted = self._engine.finish() if self._engine is not None else {}
            self.failure = counted.pop("failure", None)
            if counted and self.failure is None:
                self.folder.note_retired()
            if self._republisher is not None:
                self._republisher.close(self._end)
            if self._signals is not None:
                self._signals.close()
        finally:
            for each in self.inputs:
                each.close()
            self._notice.end()
        return self._summary(counted)

    def summary(self) -> dict[str, Any]:
        """What was joined so far, and what was not joined for which reason."""
        return self._summary(self.engine.counters())

    def _summary(self, counted: dict[str, Any]) -> dict[str, Any]:
        summary = summary_of(counted, self.began_ns) | self._resumption.summary(self.config)
        if self._checkpoints is not None and "checkpoints" in summary:
            summary["checkpoints"] |= self._checkpoints.stored
        return {**summary, "control_signals": self._signals.counts if self._signals is not None else {}}


def _wait_a_little() -> None:
    sleep_ns(_LOOK_AGAIN_NS)


def _waited(wait: Callable[[], None], seconds: float) -> bool:
    """Let some seconds pass. ``wait`` raises when the agent is told to end, so this always returns False."""
    deadline_ns = monotonic_ns() + int(seconds * 1e9)
    while monotonic_ns() < deadline_ns:
        wait()
    return False
