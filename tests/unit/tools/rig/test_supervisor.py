# SPDX-License-Identifier: Apache-2.0
"""The supervisor's decisions, event by event: starts in order, restarts by rule, ends in order."""

from __future__ import annotations

import signal
from typing import Any

from framegate.tools.rig.part import Part, RestartName, Rule
from framegate.tools.rig.supervisor import Action, Send, Start, State, Supervisor, Tell

S = 1_000_000_000
GRACE = 10 * S


def part(name: str, *after: str, **more: Any) -> Part:
    return Part(name=name, kind=name, after=frozenset(after), **more)


def rule(restart: RestartName = "on-failure", restarts_max: int = 2, within_s: int = 60) -> Rule:
    return Rule(restart=restart, restarts_max=restarts_max, restarts_within_ns=within_s * S)


def supervisor(*parts: Part, **more: Any) -> Supervisor:
    return Supervisor(parts, grace_ns=GRACE, **more)


def starts(actions: list[Action]) -> list[str]:
    return [each.name for each in actions if isinstance(each, Start)]


def sent(actions: list[Action]) -> list[tuple[str, signal.Signals]]:
    return [(each.name, each.signal) for each in actions if isinstance(each, Send)]


def told(actions: list[Action]) -> str:
    return "\n".join(f"{each.name}: {each.text}" for each in actions if isinstance(each, Tell))


def running(*parts: Part, **more: Any) -> Supervisor:
    """All are ready at second 0."""
    made = supervisor(*parts, **more)
    made.begin(0)
    for each in parts:
        made.on_ready(each.name, 0)
    assert made.has_settled
    return made


DRIVER = part("driver", is_service=True)


def test_each_starts_when_what_it_waits_for_is_ready() -> None:
    made = supervisor(DRIVER, part("join", "driver"), part("left", "driver", "join"))
    assert starts(made.begin(0)) == ["driver"]
    assert starts(made.on_ready("driver", S)) == ["join"]
    assert not made.has_settled
    assert starts(made.on_ready("join", 2 * S)) == ["left"]
    made.on_ready("left", 3 * S)
    assert made.has_settled


def test_a_part_that_says_nothing_is_ready_at_once() -> None:
    made = supervisor(part("a", says_ready=False), part("b", "a"))
    assert starts(made.begin(0)) == ["a", "b"]


def test_what_waits_for_an_end_starts_when_that_was_a_good_one() -> None:
    made = running(part("tape"), part("other"))
    made = supervisor(part("tape"), part("again", after_end=frozenset({"tape"})))
    made.begin(0)
    assert starts(made.on_ready("tape", 0)) == []
    assert made.has_settled
    assert starts(made.on_exit("tape", 0, S)) == ["again"]


def test_a_failure_is_started_again_after_a_pause_that_grows() -> None:
    made = running(DRIVER, part("left", "driver", rule=rule(restarts_max=5)))
    now = 0
    pauses = []
    for _ in range(3):
        assert starts(made.on_exit("left", -9, now)) == []
        due = made.next_ns()
        assert due is not None
        assert starts(made.on_time(due - 1)) == []
        assert starts(made.on_time(due)) == ["left"]
        pauses.append((due - now) / S)
        now = due
    assert pauses == [0.5, 1.0, 2.0]
    assert made.lives["left"].restarts == 3


def test_a_good_end_is_an_end_unless_the_rule_says_always() -> None:
    ends = running(DRIVER, part("left", rule=rule("on-failure")), part("right", rule=rule("always")))
    ends.on_exit("left", 0, S)
    ends.on_exit("right", 0, S)
    assert ends.lives["left"].state is State.ENDED
    assert ends.lives["right"].state is State.PAUSING


def test_never_means_never() -> None:
    made = running(DRIVER, part("left", rule=rule("never")), part("right"), stops_on_failure=False)
    said = told(made.on_exit("left", 1, S))
    assert made.lives["left"].state is State.FAILED
    assert "ended with exit code 1; restart is 'never'" in said
    assert not made.is_stopping


def test_the_limit_counts_restarts_of_its_window_only() -> None:
    made = running(DRIVER, part("left", rule=rule(restarts_max=2, within_s=60)), part("right"), stops_on_failure=False)
    for at in (0, 10, 100, 110):
        made.on_exit("left", 1, at * S)
        made.on_time((at + 5) * S)
    assert made.lives["left"].restarts == 4
    said = told(made.on_exit("left", 1, 120 * S))
    assert made.lives["left"].state is State.FAILED
    assert "2 restarts within 60 s" in said


def test_wrong_usage_of_a_command_of_framegate_is_not_tried_again_and_of_others_is() -> None:
    made = running(part("own"), part("foreign", is_own=False), stops_on_failure=False)
    made.on_exit("own", 2, 0)
    made.on_exit("foreign", 2, 0)
    assert made.lives["own"].state is State.FAILED
    assert made.lives["foreign"].state is State.PAUSING


def test_a_part_that_is_not_ready_in_time_is_killed_and_treated_as_failed() -> None:
    made = supervisor(part("slow", ready_ns=5 * S, rule=rule()))
    made.begin(0)
    assert sent(made.on_time(5 * S - 1)) == []
    assert sent(made.on_time(5 * S)) == [("slow", signal.SIGKILL)]
    made.on_exit("slow", -9, 6 * S)
    assert made.lives["slow"].state is State.PAUSING


def test_the_rig_ends_with_a_part_that_failed_for_good_or_goes_on_without_it() -> None:
    parts = DRIVER, part("left", "driver", rule=rule("never")), part("right", "driver")
    stopping, going_on = running(*parts), running(*parts, stops_on_failure=False)
    assert sent(stopping.on_exit("left", 1, 0)) == [("right", signal.SIGINT)]
    assert sent(going_on.on_exit("left", 1, 0)) == []
    assert stopping.first_failed == going_on.first_failed == "left"


def test_without_its_driver_a_rig_ends_whatever_it_was_told() -> None:
    made = running(part("driver", is_service=True, rule=rule("never")), part("left", "driver"), stops_on_failure=False)
    assert sent(made.on_exit("driver", 1, 0)) == [("left", signal.SIGINT)]


def test_what_waits_for_a_part_that_never_was_ready_fails_too() -> None:
    made = supervisor(part("a", rule=rule("never")), part("b", "a"), part("c", "b"), part("d"), stops_on_failure=False)
    made.begin(0)
    made.on_exit("a", 1, 0)
    assert [made.lives[name].state for name in "abcd"] == [State.FAILED] * 3 + [State.STARTING]


def test_ends_go_against_the_order_of_starts_and_the_driver_is_last() -> None:
    made = running(DRIVER, part("join", "driver"), part("left", "join", "driver"), part("right", "join", "driver"))
    assert sent(made.stop(0)) == [("left", signal.SIGINT), ("right", signal.SIGINT)]
    assert sent(made.on_exit("left", 0, 1)) == []
    assert sent(made.on_exit("right", 0, 1)) == [("join", signal.SIGINT)]
    assert sent(made.on_exit("join", 0, 1)) == [("driver", signal.SIGINT)]
    made.on_exit("driver", 0, 1)
    assert made.is_over
    assert made.first_failed is None


def test_who_does_not_end_is_told_more_firmly_within_a_bound() -> None:
    made = running(part("deaf"))
    assert sent(made.stop(0)) == [("deaf", signal.SIGINT)]
    assert sent(made.on_time(GRACE - 1)) == []
    assert sent(made.on_time(GRACE)) == [("deaf", signal.SIGTERM)]
    assert sent(made.on_time(2 * GRACE)) == [("deaf", signal.SIGKILL)]
    assert made.next_ns() is None


def test_services_end_when_nothing_else_is_left() -> None:
    made = running(DRIVER, part("server", "driver", is_service=True), part("left", "driver"))
    assert sent(made.on_exit("left", 0, 0)) == [("server", signal.SIGINT)]


def test_a_rig_of_services_alone_runs_until_it_is_told_to_end() -> None:
    made = running(DRIVER, part("server", "driver", is_service=True))
    assert not made.is_stopping


def test_nothing_is_started_while_the_rig_ends() -> None:
    made = running(part("a"), part("b", "a"))
    made.on_exit("b", 1, 0)
    assert made.lives["b"].state is State.PAUSING
    made.stop(S)
    assert starts(made.on_time(100 * S)) == []
    made.on_exit("a", 1, 2 * S)
    assert made.is_over
