# SPDX-License-Identifier: Apache-2.0
"""Goal: whatever order messages and time come in, a lease is held only by an answer that was asked for and is sound.

Method: Hypothesis plays a driver that answers late, twice, wrongly or not at all; a small model says what may hold.
"""

from __future__ import annotations

import random

from framegate.schema.driver import Role, ShmAttachRequest, ShmDetachRequest, ShmLeaseKeepalive
from framegate.shmpool.client.lease import Lease, LeaseState
from framegate.shmpool.client.lease_actions import Action, Gained, Lost, Refused
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.unit.shmpool.lease_messages import (
    LASTS,
    SECOND,
    START,
    STREAM,
    announced,
    granted,
    refused,
    revoked,
    sent,
    shutdown,
)

ROLES = st.sampled_from(Role)
FLAWS = st.sampled_from([{}, {"epoch": None}, {"payload_pools": ()}, {"stream_id": STREAM + 1}, {"lease_id": None}])


class Leases(RuleBasedStateMachine):
    @initialize(role=ROLES, seed=st.integers(0, 9))
    def begin(self, role: Role, seed: int) -> None:
        self.lease = Lease(STREAM, role, 42, chance=random.Random(seed))
        self.now_ns = START
        self.requests: list[ShmAttachRequest] = []
        self.outstanding: ShmAttachRequest | None = None
        self.open: list[ShmAttachRequest] = []
        """Those whose grant may be taken up, however late: asked since the last lease, under the present client id."""
        self.held: int | None = None
        self.next_lease_id = 1
        self.given_back: set[int] = set()

    def take(self, actions: list[Action], *, may_gain: bool = False) -> None:
        """Carry the model along; check what every action promises."""
        for action in actions:
            match action:
                case Gained(response):
                    assert may_gain
                    assert self.held is None
                    self.held, self.outstanding, self.open = response.lease_id, None, []
                case Lost():
                    assert self.held is not None
                    self.held = None
                case Refused():
                    assert self.held is None
                    self.outstanding = None
        for request in sent(actions, ShmAttachRequest):
            assert self.held is None
            assert self.outstanding is None
            assert request.correlation_id not in [earlier.correlation_id for earlier in self.requests]
            self.requests.append(request)
            self.open = [each for each in [*self.open, request] if each.client_id == self.lease.client_id]
            self.outstanding = request
        for beat in sent(actions, ShmLeaseKeepalive):
            assert beat.lease_id == self.held
        for detach in sent(actions, ShmDetachRequest):
            assert detach.lease_id != self.held
            self.given_back.add(detach.lease_id)

    @rule(step=st.integers(0, 2 * SECOND))
    def tick(self, step: int) -> None:
        self.now_ns += step
        actions = self.lease.on_tick(self.now_ns)
        if self.lease.state is LeaseState.BACKOFF:
            # What was under way has timed out.
            self.outstanding = None
        self.take(actions)

    @precondition(lambda self: self.requests)
    @rule(data=st.data(), flaw=FLAWS, lasts=st.sampled_from([None, LASTS]))
    def answer_ok(self, data: st.DataObject, flaw: dict[str, object], lasts: int | None) -> None:
        request = data.draw(st.sampled_from(self.requests))
        self.next_lease_id += 1
        expiry_ns = None if lasts is None else self.now_ns + lasts
        fields = {"lease_id": self.next_lease_id, "lease_expiry_timestamp_ns": expiry_ns, **flaw}
        wanted = self.held is None and request in self.open
        before = self.held
        self.take(self.lease.on_response(granted(request.correlation_id, **fields), self.now_ns), may_gain=wanted)
        assert (self.held == self.next_lease_id) == (wanted and not flaw)
        if not wanted:
            assert self.held == before

    @precondition(lambda self: self.requests)
    @rule(data=st.data(), why=st.sampled_from(["no", "client_id already attached"]))
    def answer_no(self, data: st.DataObject, why: str) -> None:
        request = data.draw(st.sampled_from(self.requests))
        before = self.held
        actions = self.lease.on_response(refused(request.correlation_id, why=why), self.now_ns)
        if before is None and request in self.open:
            self.outstanding = None
            self.open = [each for each in self.open if each.client_id == self.lease.client_id]
        self.take(actions)
        assert self.held == before

    @rule(lease_id=st.integers(0, 5), role=ROLES, stream=st.sampled_from([STREAM, STREAM + 1]))
    def revoke(self, lease_id: int, role: Role, stream: int) -> None:
        is_ours = (lease_id, role, stream) == (self.held, self.lease.role, STREAM)
        before = self.held
        self.take(self.lease.on_revoked(revoked(role, lease_id=lease_id, stream_id=stream), self.now_ns))
        assert self.held == (None if is_ours else before)

    @rule()
    def revoke_ours(self) -> None:
        if self.held is not None:
            self.take(self.lease.on_revoked(revoked(self.lease.role, lease_id=self.held), self.now_ns))
            assert self.held is None

    @rule(epoch=st.sampled_from([999, 1_000, 1_001]), is_ours=st.booleans())
    def announce(self, epoch: int, is_ours: bool) -> None:
        producer_id = self.lease.client_id if is_ours else 7
        actions = self.lease.on_announce(announced(epoch, self.now_ns, producer_id=producer_id), self.now_ns)
        if sent(actions, ShmAttachRequest):
            # The driver is there and did not hear the request before.
            self.outstanding = None
        self.take(actions)

    @rule()
    def shut_down(self) -> None:
        self.take(self.lease.on_shutdown(shutdown(), self.now_ns))
        assert self.held is None

    @rule()
    def fail_to_send(self) -> None:
        self.take(self.lease.on_send_failed(self.now_ns))
        self.outstanding = None
        assert self.held is None

    @rule()
    def fail_to_map(self) -> None:
        held = self.held
        self.take(self.lease.on_unusable("gone", self.now_ns))
        assert self.held is None
        assert held is None or held in self.given_back

    @invariant()
    def holds_what_was_granted(self) -> None:
        assert self.lease.is_attached == (self.held is not None)
        assert self.lease.lease_id == self.held
        assert (self.lease.epoch is None) == (self.held is None)


TestLeases = Leases.TestCase
TestLeases.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
