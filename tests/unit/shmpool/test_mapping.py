# SPDX-License-Identifier: Apache-2.0
"""When a consumer follows an announce and when it lets go (PROTOCOL 5)."""

from __future__ import annotations

from framegate.schema.wire import ClockDomain
from framegate.shmpool.consumer.mapping import Decision, Layout, Mapping

from tests.unit.shmpool.lease_messages import EPOCH, SECOND, START, STREAM, announced, granted

WALL = 1_700_000_000 * SECOND
PID = 4_711
FRESH_NS = 3 * SECOND
SILENCE_NS = 5 * SECOND


def mapped(epoch: int = EPOCH) -> Mapping:
    mapping = Mapping(STREAM, join_time_ns=START - 100 * SECOND)
    mapping.on_mapped(epoch, START, Layout.announced(announced(epoch)), PID)
    return mapping


def decide(mapping: Mapping, epoch: int = EPOCH, at_ns: int = START, now_ns: int = START) -> Decision:
    return mapping.on_announce(announced(epoch, at_ns), now_ns, WALL)


def test_an_announce_that_is_older_than_three_periods_is_ignored_and_counted() -> None:
    mapping = Mapping(STREAM)
    assert decide(mapping, at_ns=START - 3 * SECOND) is Decision.REMAP
    assert decide(mapping, at_ns=START - 3 * SECOND - 1) is Decision.IGNORE
    assert mapping.ignored_stale == 1


def test_a_monotonic_announce_stamped_before_the_join_is_a_replay() -> None:
    mapping = Mapping(STREAM, join_time_ns=START)
    assert decide(mapping, at_ns=START - 1) is Decision.IGNORE
    assert decide(mapping, at_ns=START) is Decision.REMAP


def test_an_announce_in_synchronised_realtime_is_measured_by_wall_time_and_never_by_the_join() -> None:
    mapping = Mapping(STREAM, join_time_ns=2**63)
    for at_ns, decision in ((WALL, Decision.REMAP), (WALL - FRESH_NS - 1, Decision.IGNORE)):
        message = announced(at_ns=at_ns, domain=ClockDomain.REALTIME_SYNCED)
        assert mapping.on_announce(message, START, WALL) is decision


def test_the_highest_epoch_wins_and_a_lower_one_is_ignored() -> None:
    mapping = mapped()
    assert decide(mapping, EPOCH - 1) is Decision.IGNORE
    assert decide(mapping, EPOCH + 1) is Decision.REMAP
    mapping.on_mapped(EPOCH + 1, START)
    assert decide(mapping, EPOCH) is Decision.IGNORE
    assert mapping.ignored_epoch == 2


def test_a_lower_epoch_stays_ignored_after_the_higher_one_was_let_go_or_could_not_be_mapped() -> None:
    mapping = mapped(EPOCH + 5)
    mapping.on_unmapped()
    assert decide(mapping, EPOCH) is Decision.IGNORE
    mapping = mapped()
    mapping.on_unusable(EPOCH + 1)
    mapping.on_unmapped()
    assert decide(mapping, EPOCH) is Decision.IGNORE
    assert decide(mapping, EPOCH + 1) is Decision.REMAP


def test_the_same_epoch_with_the_same_layout_is_kept_and_confirmed() -> None:
    mapping = mapped()
    assert decide(mapping, now_ns=START + SECOND) is Decision.KEEP
    assert mapping.confirmed_at_ns == START + SECOND


def test_the_same_epoch_with_another_layout_is_let_go_and_mapped_anew() -> None:
    for other in (announced(nslots=16), announced(stride_bytes=128)):
        mapping = mapped()
        assert mapping.on_announce(other, START, WALL) is Decision.UNMAP
        mapping.on_unmapped()
        assert mapping.on_announce(other, START, WALL) is Decision.REMAP


def test_an_answer_and_an_announce_of_the_same_regions_say_the_same() -> None:
    assert Layout.answered(granted(1)) == Layout.announced(announced())
    assert Layout.announced(announced(stride_bytes=128)).longest_payload == 128


def test_regions_are_used_while_their_activity_is_fresh() -> None:
    mapping = mapped()
    assert mapping.must_unmap(START, (START - SILENCE_NS, PID)) is None
    assert mapping.must_unmap(START, (START - SILENCE_NS - 1, PID)) == "nobody vouches for the regions any more"


def test_announces_do_not_make_up_for_stale_activity() -> None:
    mapping = mapped()
    now_ns = START + 6 * SECOND
    assert decide(mapping, at_ns=now_ns, now_ns=now_ns) is Decision.KEEP
    assert mapping.must_unmap(now_ns, (START, PID)) is not None


def test_activity_of_another_clock_leaves_the_announces_to_vouch() -> None:
    mapping = mapped()
    assert mapping.must_unmap(START + SILENCE_NS, (WALL, PID)) is None
    assert mapping.must_unmap(START + SILENCE_NS + 1, (WALL, PID)) is not None


def test_what_a_dead_owner_left_is_known_by_its_activity() -> None:
    mapping = Mapping(STREAM)
    assert mapping.is_active(START - FRESH_NS, START)
    assert not mapping.is_active(START - FRESH_NS - 1, START)


def test_regions_of_another_process_or_without_magic_are_let_go() -> None:
    assert mapped().must_unmap(START, (START, PID + 1)) == "another process writes the regions"
    assert mapped().must_unmap(START, None) == "its superblock is gone"


def test_the_same_process_id_proves_nothing() -> None:
    """A stale activity is death, whoever has the number now; and a fresh one under the same number is life."""
    assert mapped().must_unmap(START, (START - SILENCE_NS - 1, PID)) is not None
    assert mapped().must_unmap(START, (START, PID)) is None


def test_nothing_is_let_go_that_is_not_mapped() -> None:
    assert Mapping(STREAM).must_unmap(START, None) is None


def test_after_the_end_of_the_producer_a_higher_epoch_is_waited_for_three_periods() -> None:
    mapping = mapped()
    mapping.on_producer_revoked(START)
    assert mapping.must_unmap(START + FRESH_NS - 1, (START + FRESH_NS - 1, PID)) is None
    reason = mapping.must_unmap(START + FRESH_NS, (START + FRESH_NS, PID))
    assert reason == "the producer's lease ended and no new epoch was announced"


def test_the_wait_is_not_made_longer_by_a_second_revocation() -> None:
    mapping = mapped()
    mapping.on_producer_revoked(START)
    mapping.on_producer_revoked(START + 2 * SECOND)
    assert mapping.must_unmap(START + FRESH_NS, (START + FRESH_NS, PID)) is not None


def test_an_epoch_whose_producer_has_gone_is_not_mapped_again() -> None:
    mapping = mapped()
    mapping.on_producer_revoked(START)
    mapping.on_unmapped()
    assert decide(mapping, EPOCH) is Decision.IGNORE
    assert decide(mapping, EPOCH + 1) is Decision.REMAP


def test_a_higher_epoch_ends_the_wait() -> None:
    mapping = mapped()
    mapping.on_producer_revoked(START)
    assert decide(mapping, EPOCH + 1) is Decision.REMAP
    mapping.on_mapped(EPOCH + 1, START)
    assert mapping.must_unmap(START + FRESH_NS, (START + FRESH_NS, PID)) is None


def test_the_end_of_a_producer_means_nothing_to_whoever_has_nothing_mapped() -> None:
    mapping = Mapping(STREAM)
    mapping.on_producer_revoked(START)
    assert decide(mapping) is Decision.REMAP
