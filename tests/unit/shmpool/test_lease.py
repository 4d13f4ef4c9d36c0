# SPDX-License-Identifier: Apache-2.0
"""A client's side of a lease: asking, believing, keeping alive, losing (PROTOCOL 10.4 to 10.7)."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import pairwise

import pytest
from framegate.schema import decode_any
from framegate.schema.driver import (
    LeaseRevokeReason,
    PublishMode,
    ResponseCode,
    Role,
    ShmAttachRequest,
    ShmAttachResponse,
    ShmDetachRequest,
    ShmDetachResponse,
    ShmDriverShutdown,
    ShmLeaseKeepalive,
    ShmLeaseRevoked,
    ShutdownReason,
)
from framegate.schema.errors import InvalidValue, MessageError, UnknownTemplate, UnsupportedVersion, WrongSchema
from framegate.schema.wire import ClockDomain
from framegate.shmpool.client.lease import Lease, LeaseState
from framegate.shmpool.client.lease_actions import Gained, Lost, Refused, Send, UnderWay

from tests.unit.shmpool.lease_messages import (
    EPOCH,
    LASTS,
    LEASE,
    SECOND,
    START,
    STREAM,
    URI,
    announced,
    ask,
    granted,
    refused,
    revoked,
    sent,
    shutdown,
)


def lease_of(role: Role = Role.PRODUCER, client_id: int = 42, seed: int = 1) -> Lease:
    return Lease(STREAM, role, client_id, chance=random.Random(seed))


def attached(role: Role = Role.PRODUCER, expiry_ns: int | None = None) -> Lease:
    lease = lease_of(role)
    actions = lease.on_response(granted(ask(lease).correlation_id, lease_expiry_timestamp_ns=expiry_ns), START)
    assert [type(action) for action in actions] == [Gained]
    return lease


def reasons(actions: list[object]) -> list[str]:
    return [action.reason for action in actions if isinstance(action, Lost)]


# --- asking -----------------------------------------------------------------------------------------------


def test_the_first_tick_asks_for_the_one_lease() -> None:
    lease = lease_of(Role.CONSUMER)
    request = ask(lease)
    assert (request.stream_id, request.client_id, request.role) == (STREAM, 42, Role.CONSUMER)
    assert (request.expected_layout_version, request.publish_mode) == (1, PublishMode.EXISTING_OR_CREATE)
    assert request.desired_node_id is None
    assert lease.state is LeaseState.ATTACHING
    assert not lease.is_attached


def test_a_client_id_of_0_is_replaced_before_it_is_sent() -> None:
    assert ask(lease_of(client_id=0)).client_id != 0


def test_while_an_attach_is_under_way_no_second_one_is_sent() -> None:
    lease = lease_of()
    ask(lease)
    assert [lease.on_tick(START + step) for step in range(0, SECOND, SECOND // 10)] == [[]] * 10


def test_correlation_ids_begin_at_random_and_are_never_used_again() -> None:
    first = {ask(lease_of(seed=seed)).correlation_id for seed in range(50)}
    assert len(first) == 50
    lease, ids, now_ns = lease_of(), [], START
    for _ in range(20):
        ids.append(ask(lease, now_ns).correlation_id)
        lease.on_tick(now_ns := now_ns + SECOND)
        now_ns += 2 * SECOND
    assert len(set(ids)) == 20


def test_an_attach_without_answer_is_given_up_and_tried_again_after_a_back_off_that_grows_to_a_bound() -> None:
    lease, now_ns, pauses = lease_of(), START, []
    for _ in range(8):
        ask(lease, now_ns)
        now_ns += SECOND
        assert lease.on_tick(now_ns) == []
        assert lease.state is LeaseState.BACKOFF
        before_ns = now_ns
        while not lease.on_tick(now_ns):
            now_ns += 10_000_000
        pauses.append(now_ns - before_ns)
        lease.state = LeaseState.BACKOFF
        now_ns += 3 * SECOND
    assert pauses[:3] == [200_000_000, 400_000_000, 800_000_000]
    assert set(pauses[3:]) == {SECOND}


def test_a_request_that_could_not_be_sent_is_sent_again_soon() -> None:
    lease = lease_of()
    ask(lease)
    assert lease.on_send_failed(START) == []
    assert lease.state is LeaseState.BACKOFF
    ask(lease, START + 200_000_000)


# --- the answer -------------------------------------------------------------------------------------------


def test_an_ok_gives_the_lease_and_names_its_epoch() -> None:
    lease = lease_of()
    answer = granted(ask(lease).correlation_id)
    assert lease.on_response(answer, START) == [Gained(answer)]
    assert (lease.is_attached, lease.lease_id, lease.epoch) == (True, LEASE, EPOCH)


def pools(**changes: object) -> tuple[ShmAttachResponse.PayloadPool, ...]:
    fields = {"pool_id": 1, "pool_nslots": 8, "stride_bytes": 64, "region_uri": URI + "1.pool", **changes}
    return (ShmAttachResponse.PayloadPool(**fields),)  # type: ignore[arg-type]


UNUSABLE = {
    "lease_id": {"lease_id": None},
    "stream_id": {"stream_id": None},
    "epoch": {"epoch": None},
    "layout_version": {"layout_version": None},
    "header_nslots": {"header_nslots": None},
    "header_slot_bytes": {"header_slot_bytes": None},
    "another stream": {"stream_id": STREAM + 1},
    "another layout": {"layout_version": 2},
    "another slot size": {"header_slot_bytes": 128},
    "no pools": {"payload_pools": ()},
    "other slots": {"payload_pools": pools(pool_nslots=16)},
    "no ring": {"header_region_uri": ""},
    "blank ring": {"header_region_uri": "  "},
    "no pool region": {"payload_pools": pools(region_uri="")},
    "blank pool region": {"payload_pools": pools(region_uri=" ")},
    "relative": {"header_region_uri": "shm:file?path=relative/header.ring"},
    "scheme": {"header_region_uri": "memfd:3"},
    "unknown parameter": {"payload_pools": pools(region_uri=URI + "1.pool|mode=rw")},
}


@pytest.mark.parametrize("changes", UNUSABLE.values(), ids=UNUSABLE.keys())
def test_an_ok_that_is_not_whole_is_a_protocol_error_and_nothing_of_it_is_used(changes: dict[str, object]) -> None:
    lease = lease_of()
    actions = lease.on_response(granted(ask(lease).correlation_id, **changes), START)
    assert [type(action) for action in actions] == [Refused]
    assert (lease.state, lease.lease_id, lease.epoch) == (LeaseState.BACKOFF, None, None)
    assert lease.protocol_errors == 1
    ask(lease, START + SECOND)


@pytest.mark.parametrize("code", [code for code in ResponseCode if code != ResponseCode.OK])
def test_a_refusal_is_told_with_its_code_and_asked_again_after_the_back_off(code: ResponseCode) -> None:
    lease = lease_of()
    first = ask(lease)
    assert lease.on_response(refused(first.correlation_id, code, "no"), START) == [Refused(code, "no")]
    assert ask(lease, START + SECOND).correlation_id != first.correlation_id


def test_an_id_that_is_taken_is_drawn_anew_and_only_a_second_refusal_is_told() -> None:
    lease = lease_of()
    first = ask(lease)
    assert lease.on_response(refused(first.correlation_id, why="client_id already attached"), START) == []
    assert lease.state is LeaseState.BACKOFF
    second = ask(lease, START + SECOND)
    assert second.client_id not in (0, first.client_id)
    told = lease.on_response(refused(second.correlation_id, why="client_id already attached"), START)
    assert [type(action) for action in told] == [Refused]


def test_answers_to_others_change_nothing() -> None:
    lease = lease_of()
    request = ask(lease)
    for other in (granted(request.correlation_id + 1), refused(request.correlation_id - 1)):
        assert lease.on_response(other, START) == []
    assert lease.state is LeaseState.ATTACHING


def test_after_an_accepted_ok_further_answers_to_it_change_nothing() -> None:
    lease = lease_of()
    request = ask(lease)
    lease.on_response(granted(request.correlation_id), START)
    assert lease.on_response(granted(request.correlation_id), START) == []
    assert lease.on_response(refused(request.correlation_id), START) == []
    assert lease.is_attached


@pytest.mark.parametrize("asks_again", [False, True], ids=["in the pause", "beside another request"])
def test_an_ok_that_comes_after_the_time_out_is_taken_up(asks_again: bool) -> None:
    """The driver made large regions: the next request would begin it all anew."""
    lease = lease_of()
    request = ask(lease)
    lease.on_tick(START + SECOND)
    if asks_again:
        ask(lease, START + 2 * SECOND)
    answer = granted(request.correlation_id, lease_id=5)
    assert lease.on_response(answer, START + 3 * SECOND) == [Gained(answer)]
    assert (lease.lease_id, lease.client_id, lease.is_attached) == (5, 42, True)


def test_a_second_ok_is_given_back() -> None:
    lease = lease_of()
    first = ask(lease)
    lease.on_tick(START + SECOND)
    second = ask(lease, START + 2 * SECOND)
    lease.on_response(granted(second.correlation_id, lease_id=6), START + 2 * SECOND)
    (detach,) = sent(lease.on_response(granted(first.correlation_id, lease_id=5), START), ShmDetachRequest)
    assert (detach.lease_id, lease.lease_id, lease.is_attached) == (5, 6, True)


def test_an_ok_from_before_the_last_lease_is_given_back() -> None:
    """A copy of an old answer names a lease that this side has lost since."""
    lease = lease_of()
    request = ask(lease)
    lease.on_response(granted(request.correlation_id, lease_id=5), START)
    lease.on_revoked(revoked(lease_id=5), START)
    (detach,) = sent(lease.on_response(granted(request.correlation_id, lease_id=5), START), ShmDetachRequest)
    assert (detach.lease_id, lease.is_attached) == (5, False)


def test_a_client_id_that_an_earlier_request_attaches_is_kept_until_that_is_answered() -> None:
    lease = lease_of()
    first = ask(lease)
    lease.on_tick(now_ns := START + SECOND)
    for _ in range(20):
        again = ask(lease, now_ns := now_ns + SECOND)
        assert again.client_id == 42
        taken = refused(again.correlation_id, why="client_id already attached")
        assert lease.on_response(taken, now_ns) == [UnderWay()]
    assert [type(each) for each in lease.on_response(granted(first.correlation_id), now_ns)] == [Gained]


def test_an_attach_that_fails_after_a_while_is_told() -> None:
    lease = lease_of()
    first = ask(lease)
    lease.on_tick(START + SECOND)
    taken = refused(ask(lease, START + 2 * SECOND).correlation_id, why="client_id already attached")
    lease.on_response(taken, START + 2 * SECOND)
    no_room = refused(first.correlation_id, ResponseCode.INTERNAL_ERROR, "no room")
    assert lease.on_response(no_room, START + 3 * SECOND) == [Refused(ResponseCode.INTERNAL_ERROR, "no room")]


def test_an_attach_is_not_under_way_for_ever() -> None:
    lease = lease_of()
    ask(lease)
    lease.on_tick(START + SECOND)
    now_ns, kept = START + SECOND, 0
    while lease.client_id == 42:
        again = ask(lease, now_ns := now_ns + SECOND)
        lease.on_response(refused(again.correlation_id, why="client_id already attached"), now_ns)
        kept += 1
    assert 60 * SECOND < now_ns - START <= lease.times.under_way_ns + 5 * SECOND
    assert kept > 60
    last = granted(again.correlation_id, lease_id=5)
    assert [type(each) for each in lease.on_response(last, now_ns)] == [Send]


def test_a_request_that_was_not_sent_is_not_under_way() -> None:
    lease = lease_of()
    ask(lease)
    lease.on_send_failed(START)
    again = ask(lease, START + SECOND)
    assert lease.on_response(refused(again.correlation_id, why="client_id already attached"), START + SECOND) == []
    assert lease.client_id != 42


def test_an_answer_that_was_lost_with_the_link_is_not_waited_for() -> None:
    lease = lease_of()
    ask(lease)
    lease.on_link_lost("the media driver is gone", START)
    again = ask(lease, START + SECOND)
    assert lease.on_response(refused(again.correlation_id, why="client_id already attached"), START + SECOND) == []
    assert lease.client_id != 42


# --- keeping alive -----------------------------------------------------------------------------------------


def beats(lease: Lease, until_ns: int, step_ns: int) -> list[int]:
    """When keep-alives were sent; the driver announces all the while."""
    times = []
    for now_ns in range(START, until_ns, step_ns):
        lease.on_announce(announced(at_ns=now_ns, producer_id=lease.client_id), now_ns)
        if sent(lease.on_tick(now_ns), ShmLeaseKeepalive):
            times.append(now_ns - START)
    return times


def test_a_keepalive_goes_out_every_second_and_names_the_lease() -> None:
    lease = attached()
    assert beats(lease, START + 5 * SECOND, SECOND // 4) == [SECOND, 2 * SECOND, 3 * SECOND, 4 * SECOND]
    (beat,) = sent(lease.on_tick(START + 5 * SECOND), ShmLeaseKeepalive)
    assert (beat.lease_id, beat.stream_id, beat.client_id, beat.role) == (LEASE, STREAM, 42, Role.PRODUCER)
    assert beat.client_timestamp_ns == START + 5 * SECOND


def test_a_lease_without_expiry_is_accepted_and_kept_alive() -> None:
    lease = attached(expiry_ns=None)
    assert len(beats(lease, START + 20 * SECOND, SECOND // 4)) == 19
    assert lease.is_attached


def test_a_short_lease_is_kept_alive_in_time() -> None:
    lease = attached(expiry_ns=START + SECOND // 2)
    times = [0, *beats(lease, START + 3 * SECOND, SECOND // 100)]
    assert max(later - earlier for earlier, later in pairwise(times)) <= SECOND // 4
    assert lease.is_attached


def test_an_expiry_is_a_hard_deadline_for_a_process_that_did_not_run() -> None:
    lease = attached(expiry_ns=START + LASTS)
    assert lease.on_tick(START + LASTS - 1)
    assert lease.is_attached
    late = attached(expiry_ns=START + LASTS)
    lost = late.on_tick(START + LASTS)
    assert reasons([*lost]) == ["the lease expired: this process did not run in time"]
    assert not late.is_attached


def test_every_keepalive_moves_the_deadline() -> None:
    lease = attached(expiry_ns=START + LASTS)
    beats(lease, START + 30 * SECOND, SECOND // 4)
    assert lease.is_attached
    lease.on_announce(announced(at_ns=START + 34 * SECOND, producer_id=42), START + 34 * SECOND)
    assert reasons([*lease.on_tick(START + 34 * SECOND)])


def test_a_keepalive_that_cannot_be_sent_ends_the_lease_and_asks_again() -> None:
    lease = attached()
    assert lease.on_tick(START + SECOND)
    assert reasons([*lease.on_send_failed(START + SECOND)]) == ["a keep-alive could not be sent"]
    ask(lease, START + 2 * SECOND)


# --- losing ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reason", LeaseRevokeReason)
@pytest.mark.parametrize("role", Role)
def test_the_end_of_the_own_lease_is_the_end_at_once_and_another_is_asked_for(
    role: Role, reason: LeaseRevokeReason
) -> None:
    lease = attached(role)
    actions = lease.on_revoked(revoked(role, reason=reason), START)
    assert actions == [Lost(f"the driver ended the lease: {reason.name.lower()}")]
    assert (lease.is_attached, lease.lease_id, lease.epoch) == (False, None, None)
    ask(lease, START + SECOND)


@pytest.mark.parametrize(
    "other", [revoked(lease_id=LEASE + 1), revoked(stream_id=STREAM + 1), revoked(Role.CONSUMER)], ids=lambda _: ""
)
def test_the_end_of_another_lease_is_not_this_ones(other: ShmLeaseRevoked) -> None:
    lease = attached()
    assert lease.on_revoked(other, START) == []
    assert lease.is_attached


def test_one_of_several_leases_ends_alone() -> None:
    producer, consumer = attached(Role.PRODUCER), attached(Role.CONSUMER)
    message = revoked(Role.CONSUMER)
    assert not producer.on_revoked(message, START)
    assert consumer.on_revoked(message, START)
    assert (producer.is_attached, consumer.is_attached) == (True, False)


def test_a_second_revocation_does_nothing() -> None:
    lease = attached()
    assert lease.on_revoked(revoked(), START)
    state = lease.state
    assert lease.on_revoked(revoked(), START) == []
    assert lease.state is state


@pytest.mark.parametrize("reason", ShutdownReason)
def test_a_shutdown_voids_the_lease_at_once_and_another_is_asked_for_later(reason: ShutdownReason) -> None:
    lease = attached(Role.CONSUMER)
    assert lease.on_shutdown(shutdown(reason), START) == [Lost(f"the driver shut down: {reason.name.lower()}")]
    assert lease.on_shutdown(shutdown(reason), START) == []
    assert lease.on_tick(START) == []
    ask(lease, START + SECOND)


def test_after_a_restart_of_the_driver_the_old_lease_id_means_nothing() -> None:
    """The id is asked for anew, and a revocation of the old one does not end the new one."""
    lease = attached()
    lease.on_shutdown(shutdown(), START)
    lease.on_response(granted(ask(lease, START + SECOND).correlation_id, lease_id=LEASE + 5), START + SECOND)
    assert lease.on_revoked(revoked(lease_id=LEASE), START + SECOND) == []
    assert lease.lease_id == LEASE + 5


@pytest.mark.parametrize("role", Role)
def test_a_driver_that_fell_silent_without_notice_is_seen_by_its_announces(role: Role) -> None:
    lease = attached(role)
    now_ns = START
    while not (lost := reasons([*lease.on_tick(now_ns)])):
        now_ns += SECOND // 4
    assert lost == ["the driver fell silent"]
    assert now_ns == START + 5 * SECOND
    ask(lease, now_ns + SECOND)


def test_only_announces_of_the_stream_that_are_new_vouch_for_it() -> None:
    lease = attached()
    now_ns = START + 5 * SECOND
    for useless in (
        announced(at_ns=now_ns, stream_id=STREAM + 1, producer_id=42),
        announced(at_ns=now_ns, epoch=EPOCH - 1, producer_id=42),
        announced(at_ns=now_ns, producer_id=43),
        announced(at_ns=START - SECOND, producer_id=42),
    ):
        assert lease.on_announce(useless, now_ns) == []
    assert reasons([*lease.on_tick(now_ns)]) == ["the driver fell silent"]


def test_an_announce_in_synchronised_realtime_vouches_from_when_it_was_heard() -> None:
    lease = attached()
    now_ns = START + 4 * SECOND
    message = announced(at_ns=1, producer_id=42, domain=ClockDomain.REALTIME_SYNCED)
    assert lease.on_announce(message, now_ns) == []
    assert not reasons([*lease.on_tick(START + 6 * SECOND)])


def test_a_producer_whose_stream_went_on_without_it_stops_at_once() -> None:
    """As after a driver that was killed and restarted: nobody tells, but the epoch does."""
    lease = attached(Role.PRODUCER)
    lost = lease.on_announce(announced(EPOCH + 1, START), START)
    assert reasons([*lost]) == [f"the stream went on to epoch {EPOCH + 1} without this producer"]


def test_a_consumers_lease_outlives_epochs() -> None:
    lease = attached(Role.CONSUMER)
    assert lease.on_announce(announced(EPOCH + 1, START), START) == []
    assert lease.is_attached


@pytest.mark.parametrize(
    "lose",
    [
        lambda lease: lease.on_unusable("no such file", START),
        lambda lease: lease.on_tick(START + 5 * SECOND),
        lambda lease: lease.on_announce(announced(EPOCH + 1, START), START),
    ],
    ids=["regions that cannot be mapped", "silence", "another epoch"],
)
def test_a_lease_that_this_side_ends_is_given_back(lose: Callable[[Lease], list[object]]) -> None:
    lease = attached()
    lost, detach = lose(lease)
    assert isinstance(lost, Lost)
    assert isinstance(detach, Send)
    assert isinstance(detach.message, ShmDetachRequest)
    assert (detach.message.lease_id, detach.message.client_id) == (LEASE, 42)


def test_without_its_link_a_lease_is_lost_and_an_attach_tried_again() -> None:
    lease = attached()
    assert lease.on_link_lost("the media driver is gone", START) == [Lost("the media driver is gone")]
    assert lease.on_link_lost("again", START) == []
    waiting = lease_of()
    ask(waiting)
    assert waiting.on_link_lost("the media driver is gone", START) == []
    ask(waiting, START + SECOND)


@pytest.mark.parametrize(
    "lose",
    [
        lambda lease: lease.on_tick(START + 5 * SECOND),
        lambda lease: lease.on_link_lost("the media driver is gone", START + 5 * SECOND),
        lambda lease: lease.on_send_failed(START + 5 * SECOND),
    ],
    ids=["silence", "no link", "a keep-alive that could not be sent"],
)
def test_a_lease_that_the_driver_may_still_hold_is_given_back_before_each_attach_until_it_answers(
    lose: Callable[[Lease], list[object]],
) -> None:
    """A driver that stood still holds it, and would refuse the next attach of the same producer."""
    lease = attached()
    assert lose(lease)
    for now_ns in (START + 6 * SECOND, START + 9 * SECOND):
        detach, request = lease.on_tick(now_ns)
        assert isinstance(detach, Send)
        assert isinstance(detach.message, ShmDetachRequest)
        assert (detach.message.lease_id, detach.message.client_id) == (LEASE, 42)
        assert isinstance(request, Send)
        assert isinstance(request.message, ShmAttachRequest)
        lease.on_tick(now_ns + SECOND)
    again = ask_again(lease, START + 12 * SECOND)
    lease.on_response(refused(again.correlation_id), START + 12 * SECOND)
    assert len(lease.on_tick(START + 14 * SECOND)) == 1


def ask_again(lease: Lease, now_ns: int) -> ShmAttachRequest:
    """The request behind a detach."""
    _detach, request = lease.on_tick(now_ns)
    assert isinstance(request, Send)
    assert isinstance(request.message, ShmAttachRequest)
    return request.message


def test_an_answer_to_the_detach_ends_its_repetition() -> None:
    lease = attached()
    (detach,) = sent(lease.on_tick(START + 5 * SECOND), ShmDetachRequest)
    lease.on_detached(ShmDetachResponse(correlation_id=detach.correlation_id - 1, code=ResponseCode.OK))
    ask_again(lease, START + 6 * SECOND)
    lease.on_detached(ShmDetachResponse(correlation_id=detach.correlation_id, code=ResponseCode.REJECTED))
    lease.on_tick(START + 7 * SECOND)
    ask(lease, START + 9 * SECOND)


def test_a_lease_that_was_lost_and_never_given_back_is_when_its_holder_closes() -> None:
    lease = attached()
    lease.on_link_lost("the media driver is gone", START)
    (detach,) = sent(lease.close(), ShmDetachRequest)
    assert detach.lease_id == LEASE


@pytest.mark.parametrize(
    "lose",
    [
        lambda lease: lease.on_tick(START + 5 * SECOND),
        lambda lease: lease.on_link_lost("the media driver is gone", START + 5 * SECOND),
        lambda lease: lease.on_shutdown(shutdown(), START + 5 * SECOND),
    ],
    ids=["silence", "no link", "shutdown"],
)
def test_a_driver_that_is_heard_again_is_asked_at_once(lose: Callable[[Lease], list[object]]) -> None:
    lease = attached()
    lose(lease)
    now_ns = START + 5 * SECOND + 1
    assert lease.on_announce(announced(at_ns=START + 4 * SECOND), now_ns) == []
    assert lease.on_announce(announced(at_ns=now_ns, stream_id=STREAM + 1), now_ns) == []
    assert sent(lease.on_announce(announced(at_ns=now_ns), now_ns), ShmAttachRequest)
    assert lease.state is LeaseState.ATTACHING


def test_a_request_that_the_driver_did_not_hear_is_repeated_when_it_announces() -> None:
    lease = lease_of()
    first = ask(lease)
    early_ns, late_ns = START + 100_000_000, START + 300_000_000
    assert lease.on_announce(announced(at_ns=early_ns), early_ns) == []
    (second,) = sent(lease.on_announce(announced(at_ns=late_ns), late_ns), ShmAttachRequest)
    assert second.correlation_id != first.correlation_id


def test_an_announce_does_not_hurry_a_client_that_was_refused_or_cannot_map() -> None:
    """Every grant brings an announce: without a pause they would follow each other as fast as messages go."""
    lease = lease_of()
    lease.on_response(refused(ask(lease).correlation_id), START)
    assert lease.on_announce(announced(at_ns=START + 1), START + 1) == []
    lease = attached()
    lease.on_unusable("no such file", START)
    assert lease.on_announce(announced(at_ns=START + 1), START + 1) == []


# --- closing -----------------------------------------------------------------------------------------------


def test_close_detaches_and_nothing_follows() -> None:
    lease = attached()
    (detach,) = sent(lease.close(), ShmDetachRequest)
    assert (detach.lease_id, detach.stream_id, detach.client_id, detach.role) == (LEASE, STREAM, 42, Role.PRODUCER)
    assert lease.on_tick(START + 99 * SECOND) == []
    assert lease.on_response(granted(detach.correlation_id), START) == []
    assert lease.on_shutdown(shutdown(), START) == []
    assert lease.close() == []


def test_close_without_a_lease_says_nothing() -> None:
    lease = lease_of()
    ask(lease)
    assert lease.close() == []


# --- what the codecs refuse, so that a lease never sees it ---------------------------------------------------


@pytest.mark.parametrize(
    ("message", "offset", "value"),
    [
        (revoked(), 25, 0),
        (revoked(), 25, 4),
        (revoked(), 24, 0),
        (revoked(), 24, 3),
        (shutdown(), 8, 3),
        (shutdown(), 8, 255),
        (granted(1), 8, 9),
    ],
    ids=["reason 0", "reason 4", "role 0", "role 3", "shutdown 3", "shutdown 255", "code 9"],
)
def test_a_value_without_a_name_is_rejected(
    message: ShmLeaseRevoked | ShmDriverShutdown | ShmAttachResponse, offset: int, value: int
) -> None:
    data = bytearray(message.encode())
    data[8 + offset] = value
    with pytest.raises(InvalidValue):
        decode_any(bytes(data))


def test_a_newer_version_and_another_schema_or_template_are_rejected() -> None:
    data = granted(1).encode()
    with pytest.raises(UnsupportedVersion):
        ShmAttachResponse.decode(data[:6] + b"\x02\x00" + data[8:])
    with pytest.raises(WrongSchema):
        ShmAttachResponse.decode(data[:4] + b"\x84\x03" + data[6:])
    with pytest.raises(UnknownTemplate):
        ShmAttachResponse.decode(shutdown().encode())


def test_a_cut_answer_is_rejected() -> None:
    data = granted(1).encode()
    for length in range(len(data)):
        with pytest.raises(MessageError):
            decode_any(data[:length])


def test_absent_fields_are_their_null_values_and_texts_of_length_0() -> None:
    request = ask(lease_of())
    assert ShmAttachRequest.decode(request.encode()).desired_node_id is None
    assert request.encode()[8 + 23 : 8 + 27] == b"\xff\xff\xff\xff"
    absent = ShmAttachRequest(
        correlation_id=1, stream_id=1, client_id=1, role=Role.CONSUMER, expected_layout_version=0,
        publish_mode=None, require_hugepages=request.require_hugepages,
    )  # fmt: skip
    assert absent.encode()[8 + 21] == 255
    answer = ShmAttachResponse.decode(refused(1, why="").encode())
    assert (answer.header_region_uri, answer.error_message, answer.lease_id) == ("", "", None)
    assert refused(1, why="").encode()[-8:] == bytes(8)
