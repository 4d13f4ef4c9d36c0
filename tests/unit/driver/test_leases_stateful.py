# SPDX-License-Identifier: Apache-2.0
"""Anything in any order: what must hold of the lease authority whatever clients, disk and time do.

A model keeps what the clients were told, and nothing else; the authority's own tables are looked at only for bounds.
"""

from __future__ import annotations

import os
from collections import defaultdict
from dataclasses import replace

from framegate.driver.epochs import EpochCounter
from framegate.driver.lease_actions import (
    Action,
    Announce,
    Provision,
    Provisioned,
    ProvisionFailed,
    ProvisionProblem,
    Respond,
    Retire,
    Revoke,
    Shutdown,
)
from framegate.driver.lease_rules import LeaseRules, Limits
from framegate.driver.leases import LeaseAuthority
from framegate.schema.config.types import IdRange
from framegate.schema.driver import (
    HugepagesPolicy,
    LeaseRevokeReason,
    PublishMode,
    ResponseCode,
    Role,
    ShmAttachRequest,
    ShmAttachResponse,
    ShmDetachResponse,
    ShmDriverShutdownRequest,
    ShutdownReason,
)
from framegate.schema.wire import ConsumerConfig
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.unit.driver.lease_world import PROFILE, Held, attach, held, regions_of

IS_LONG = os.environ.get("FRAMEGATE_TEST_LANE") == "long"
TOKEN = "token"  # noqa: S105  (a test's)
LIMITS = Limits(leases=6, streams=4, pending_attaches=4)
RULES = LeaseRules(
    default_profile=PROFILE,
    static_profiles={5: PROFILE},
    dynamic_ids=IdRange(100, 102),
    lease_ns=30,
    announce_period_ns=10,
    epoch_gc_min_age_ns=25,
    shutdown_timeout_ns=20,
    shutdown_token=TOKEN,
    node_id_cooldown_ns=15,
    limits=LIMITS,
)
# Most are requests that can be granted, for two streams: otherwise hardly anything would ever happen on one stream.
requests = st.builds(
    attach,
    st.integers(0, 7),
    st.sampled_from(Role),
    st.sampled_from([100, 100, 100, 5, 5, 0, 101, 99]),
    layout=st.sampled_from([0] * 8 + [1, 2]),
    mode=st.sampled_from([PublishMode.EXISTING_OR_CREATE] * 8 + [PublishMode.REQUIRE_EXISTING, None]),
    hugepages=st.sampled_from(
        [HugepagesPolicy.UNSPECIFIED] * 8 + [HugepagesPolicy.STANDARD, HugepagesPolicy.HUGEPAGES]
    ),
    node_id=st.sampled_from([None] * 6 + [1, 2]),
)


class Leases(RuleBasedStateMachine):
    """Clients, a disk that may be slow or full, and time."""

    def __init__(self) -> None:
        super().__init__()
        self.now_ns = 1_000
        self.correlation_id = 0
        self.asked: dict[int, ShmAttachRequest] = {}
        self.live: dict[int, Held] = {}
        self.deadlines: dict[int, int] = {}
        self.ended: set[int] = set()
        self.orders: list[Provision] = []
        self.disk: set[tuple[int, int]] = set()
        self.used: set[tuple[int, int]] = set()
        self.highest: dict[int, int] = defaultdict(int)
        self.announced: dict[int, int] = defaultdict(int)
        self.must_exceed: dict[int, int] = defaultdict(int)
        self.has_ended = False

    @initialize(keep=st.sampled_from([1, 2, 3]), floor=st.sampled_from([0, 10**6]))
    def start(self, keep: int, floor: int) -> None:
        self.keep = keep
        rules = replace(RULES, epoch_gc_keep=keep)
        floors = {100: floor} if floor else {}
        self.authority = LeaseAuthority(rules, EpochCounter(floors), first_lease_id=1)
        self.highest[100] = floor
        self.follow(self.authority.start(self.now_ns))

    # --- what happens -------------------------------------------------------------------------------------

    @rule(request=requests)
    def ask(self, request: ShmAttachRequest) -> None:
        self.correlation_id += 1
        request = replace(request, correlation_id=self.correlation_id)
        if not self.has_ended:
            self.asked[self.correlation_id] = request
        self.follow(self.authority.on_message(request, self.now_ns))

    @precondition(lambda self: self.live)
    @rule(data=st.data())
    def keep_alive(self, data: st.DataObject) -> None:
        lease = self.live[data.draw(st.sampled_from(sorted(self.live)))]
        self.follow(self.authority.on_message(lease.keepalive(), self.now_ns))
        self.deadlines[lease.lease_id] = self.now_ns + RULES.lease_ns

    @precondition(lambda self: self.live)
    @rule(data=st.data(), is_wrong=st.booleans())
    def detach(self, data: st.DataObject, is_wrong: bool) -> None:
        lease = self.live[data.draw(st.sampled_from(sorted(self.live)))]
        lease = replace(lease, client_id=lease.client_id + 1) if is_wrong else lease
        actions = self.authority.on_message(lease.detach(), self.now_ns)
        answer = actions[0]
        assert isinstance(answer, Respond)
        assert isinstance(answer.message, ShmDetachResponse)
        assert (answer.message.code == ResponseCode.OK) != is_wrong
        self.follow(actions)
        assert (lease.lease_id in self.live) == is_wrong

    @precondition(lambda self: self.ended)
    @rule(data=st.data())
    def speak_of_what_has_ended(self, data: st.DataObject) -> None:
        lease_id = data.draw(st.sampled_from(sorted(self.ended)))
        ghost = Held(lease_id, 100, 1, Role.PRODUCER, 0, 0)
        assert self.authority.on_message(ghost.keepalive(), self.now_ns) == []
        self.follow(self.authority.on_message(ghost.detach(), self.now_ns))

    @rule(delta_ns=st.sampled_from([0, 1, 3, 9, 11, 29, 30, 40]))
    def pass_time(self, delta_ns: int) -> None:
        self.now_ns += delta_ns
        overdue = {lease_id for lease_id, at_ns in self.deadlines.items() if self.now_ns >= at_ns}
        self.follow(self.authority.tick(self.now_ns))
        assert not overdue & self.live.keys(), "a lease outlived its deadline"

    @precondition(lambda self: self.orders)
    @rule()
    def answer_all_orders(self) -> None:
        while self.orders:
            self.make(self.orders.pop(0))

    @precondition(lambda self: self.orders)
    @rule(data=st.data(), problem=st.sampled_from([None, None, None, *ProvisionProblem]))
    def answer_an_order(self, data: st.DataObject, problem: ProvisionProblem | None) -> None:
        order = self.orders.pop(data.draw(st.integers(0, len(self.orders) - 1)))
        if problem is not None:
            failed = ProvisionFailed(order.stream_id, order.epoch, problem, "x" * 2000)
            self.follow(self.authority.on_regions(failed, self.now_ns))
        else:
            self.make(order)

    def make(self, order: Provision) -> None:
        assert (order.stream_id, order.epoch) not in self.used, "an epoch was made twice"
        self.disk.add((order.stream_id, order.epoch))
        self.used.add((order.stream_id, order.epoch))
        of_stream = [epoch for stream_id, epoch in self.disk if stream_id == order.stream_id]
        assert len(of_stream) <= max(2, self.keep), "old epochs did not make way for the new one"
        self.follow(self.authority.on_regions(Provisioned(regions_of(order)), self.now_ns))

    @rule(token=st.sampled_from(["", "wrong"] * 10 + [TOKEN]))
    def ask_for_the_end(self, token: str) -> None:
        request = ShmDriverShutdownRequest(correlation_id=0, reason=ShutdownReason.ADMIN, token=token)
        assert not [
            action
            for action in self.authority.on_message(request, self.now_ns)
            if not isinstance(action, Announce) or token != TOKEN
        ]

    # --- what follows -------------------------------------------------------------------------------------

    def follow(self, actions: list[Action]) -> None:
        for action in actions:
            match action:
                case Respond(ShmAttachResponse() as response):
                    self.on_response(response)
                case Respond(ConsumerConfig() | ShmDetachResponse()):
                    pass
                case Revoke(message):
                    self.on_revoked(message.lease_id, message.reason)
                case Provision():
                    key = (action.stream_id, action.epoch)
                    # A second attempt repeats its number; otherwise every order is above all before it.
                    assert action.epoch > self.highest[action.stream_id] or key not in self.used
                    self.highest[action.stream_id] = max(action.epoch, self.highest[action.stream_id])
                    self.orders.append(action)
                case Retire(stream_id, epoch):
                    assert (stream_id, epoch) in self.disk, "something that is not there was retired"
                    in_use = [each for each in self.live.values() if (each.stream_id, each.epoch) == (stream_id, epoch)]
                    told = self.announced[stream_id]
                    assert not in_use or told > epoch, "an epoch went while a lease knew no other"
                    self.disk.remove((stream_id, epoch))
                case Announce(regions, producer_id):
                    self.on_announce(regions.stream_id, regions.epoch, producer_id)
                case Shutdown():
                    assert not self.live, "a lease was not revoked"
                    self.has_ended = True

    def on_response(self, response: ShmAttachResponse) -> None:
        request = self.asked.pop(response.correlation_id)  # Each request is answered once.
        assert len(response.error_message) <= 1024
        assert ShmAttachResponse.decode(response.encode()) == response
        if response.code != ResponseCode.OK:
            assert response.error_message
            assert response.lease_id is response.node_id is response.epoch is None
            return
        lease = held(request, response)
        assert lease.lease_id not in self.live.keys() | self.ended, "a lease id was given twice"
        assert lease.client_id not in {each.client_id for each in self.live.values()}
        assert lease.node_id not in {each.node_id for each in self.live.values()}
        assert (lease.stream_id, lease.epoch) in self.disk, "regions were granted that are not there"
        assert lease.epoch > self.must_exceed[lease.stream_id], "an old epoch was granted after a producer's end"
        if lease.role == Role.PRODUCER:
            others = [each for each in self.live.values() if each.stream_id == lease.stream_id]
            assert all(each.role == Role.CONSUMER for each in others), "two producers"
            assert lease.epoch > self.announced[lease.stream_id], "a producer got an epoch that was announced before"
        self.live[lease.lease_id] = lease
        self.deadlines[lease.lease_id] = self.now_ns + RULES.lease_ns

    def on_revoked(self, lease_id: int, reason: LeaseRevokeReason) -> None:
        lease = self.live.pop(lease_id)  # Each lease is revoked once.
        deadline_ns = self.deadlines.pop(lease_id)
        assert reason != LeaseRevokeReason.EXPIRED or self.now_ns >= deadline_ns, "a lease expired early"
        self.ended.add(lease_id)
        if lease.role == Role.PRODUCER:
            self.must_exceed[lease.stream_id] = lease.epoch

    def on_announce(self, stream_id: int, epoch: int, producer_id: int) -> None:
        assert (stream_id, epoch) in self.disk, "regions were announced that are not there"
        assert epoch >= self.announced[stream_id], "an epoch went back"
        assert epoch > self.must_exceed[stream_id], "an old epoch was announced after a producer's end"
        producers = [each for each in self.live.values() if each.stream_id == stream_id and each.role == Role.PRODUCER]
        assert [each.client_id for each in producers] == ([producer_id] if producer_id else [])
        self.announced[stream_id] = epoch

    # --- always -------------------------------------------------------------------------------------------

    @invariant()
    def tables_are_bounded(self) -> None:
        assert len(self.live) <= LIMITS.leases
        assert len(self.authority.streams) <= LIMITS.streams
        assert len(self.asked) <= LIMITS.pending_attaches

    @invariant()
    def the_authority_knows_the_leases_that_its_clients_know(self) -> None:
        if hasattr(self, "authority"):
            assert self.authority.leases.keys() == self.live.keys()

    def teardown(self) -> None:
        if hasattr(self, "authority") and not self.has_ended:
            self.follow(self.authority.shutdown(self.now_ns))
            assert (self.has_ended, self.live, self.asked) == (True, {}, {})
            assert self.authority.attaching == 0
        while self.orders and self.has_ended:
            # Regions that come after the end are removed again: nobody was told of them.
            order = self.orders.pop()
            self.make(order)
            assert (order.stream_id, order.epoch) not in self.disk


Leases.TestCase.settings = settings(max_examples=2_000 if IS_LONG else 150, stateful_step_count=80, deadline=None)
TestLeases = Leases.TestCase
