# SPDX-License-Identifier: Apache-2.0
"""Somebody who asks for a checkpoint: asks until it has begun, and hears its end from whoever lives to tell it."""

from __future__ import annotations

import pytest
from framegate.joinbarrier.checkpoint.messages import UNALIGNED
from framegate.joinbarrier.checkpoint.signals import BarrierSignal, InstantSignal
from framegate.joinbarrier.checkpoint.trigger_request import ASK_AGAIN_NS, Outcome, TriggerRequest
from framegate.joinbarrier.commands.checkpoint_trigger import TriggerOptions, interrupted, not_taken, overdue
from framegate.schema.control import (
    AbortCause,
    CheckpointAborted,
    CheckpointComplete,
    PipelineAnnounce,
    SignalCategory,
    SignalKind,
    TriggerCheckpoint,
    TriggerProgress,
    TriggerSignal,
    TriggerState,
)
from framegate.schema.errors import CheckpointNotTaken, NoCoordinator


@pytest.fixture
def asked() -> TriggerRequest:
    return TriggerRequest(7, "default", is_unaligned=True)


def progress(state: TriggerState, checkpoint_id: int = 0, correlation_id: int = 7, reason: str = "") -> TriggerProgress:
    return TriggerProgress(
        correlation_id=correlation_id,
        checkpoint_id=checkpoint_id,
        epoch=3,
        state=state,
        duration_ns=5,
        bytes=6,
        pipeline="default",
        reason=reason,
    )


def announce(pipeline: str, epoch: int = 1) -> PipelineAnnounce:
    return PipelineAnnounce(
        last_checkpoint_id=0,
        current_checkpoint_id=0,
        epoch=epoch,
        flags=0,
        alignment_timeout_ms=1,
        late_barrier_timeout_ms=1,
        operator_timeout_ms=1,
        pipeline=pipeline,
        store="/ck",
    )


def test_it_asks_again_until_it_is_answered(asked: TriggerRequest) -> None:
    request = asked.due(0)
    assert isinstance(request, TriggerCheckpoint)
    assert (request.correlation_id, request.flags, request.pipeline) == (7, UNALIGNED, "default")
    assert asked.due(ASK_AGAIN_NS - 1) is None
    assert asked.due(ASK_AGAIN_NS) == request
    asked.on_message(progress(TriggerState.WAITING))
    # The next coordinator would hear what this one leaves unheard when it is killed.
    assert asked.due(5 * ASK_AGAIN_NS) is None
    asked.on_message(progress(TriggerState.STARTED, 12))
    assert asked.due(10 * ASK_AGAIN_NS) is None


def test_who_waits_asks_the_next_coordinator_of_the_pipeline_once(asked: TriggerRequest) -> None:
    asked.due(0)
    asked.on_message(progress(TriggerState.WAITING))
    for other in (announce("default", 3), announce("default", 2), announce("lidar", 4)):
        asked.on_message(other)
    assert asked.due(ASK_AGAIN_NS) is None
    asked.on_message(announce("default", 4))
    assert asked.due(ASK_AGAIN_NS) is not None


def test_a_checkpoint_that_has_begun_is_not_asked_for_again(asked: TriggerRequest) -> None:
    asked.due(0)
    asked.on_message(progress(TriggerState.STARTED, 12))
    asked.on_message(announce("default", 4))
    assert asked.due(ASK_AGAIN_NS) is None


def test_on_a_new_link_it_asks_at_once(asked: TriggerRequest) -> None:
    asked.due(0)
    asked.ask_anew()
    assert asked.due(1) is not None


@pytest.mark.parametrize("state", [TriggerState.COMPLETE, TriggerState.ABORTED, TriggerState.REFUSED])
def test_the_coordinators_word_is_the_outcome_and_the_first_one_counts(
    asked: TriggerRequest, state: TriggerState
) -> None:
    asked.on_message(progress(TriggerState.COMPLETE, 12, correlation_id=8))
    assert asked.outcome is None
    asked.on_message(progress(state, 12, reason="x"))
    asked.on_message(progress(TriggerState.STARTED, 13))
    assert asked.outcome == Outcome(state, 12, 3, 5, 6, "x")


def test_what_became_of_it_is_heard_from_a_coordinator_that_knows_no_request(asked: TriggerRequest) -> None:
    complete = CheckpointComplete(checkpoint_id=12, epoch=4, pipeline="default")
    asked.on_message(complete)
    assert asked.outcome is None
    asked.on_message(progress(TriggerState.STARTED, 12))
    asked.on_message(CheckpointComplete(checkpoint_id=12, epoch=4, pipeline="lidar"))
    asked.on_message(CheckpointComplete(checkpoint_id=11, epoch=4, pipeline="default"))
    assert asked.outcome is None
    asked.on_message(complete)
    assert asked.outcome == Outcome(TriggerState.COMPLETE, 12, 4)


def test_an_abort_that_is_announced_carries_its_cause(asked: TriggerRequest) -> None:
    asked.on_message(progress(TriggerState.STARTED, 12))
    cause = AbortCause.COORDINATOR
    asked.on_message(CheckpointAborted(checkpoint_id=12, epoch=4, cause=cause, pipeline="default", reason="restarted"))
    assert asked.outcome is not None
    assert str(not_taken(asked.outcome, TriggerOptions())).startswith(
        "[FG-622 CHECKPOINT_NOT_TAKEN] pipeline=default checkpoint_id=12: aborted: COORDINATOR: restarted"
    )


def test_when_the_time_is_up_it_is_said_how_far_it_came(asked: TriggerRequest) -> None:
    asked.on_message(announce("lidar"))
    nobody = overdue(asked, TriggerOptions(), 10.0)
    assert isinstance(nobody, NoCoordinator)
    assert nobody.facts["announced"] == "lidar"
    asked.on_message(announce("default"))
    assert isinstance(overdue(asked, TriggerOptions(), 10.0), CheckpointNotTaken)
    asked.on_message(progress(TriggerState.STARTED, 12))
    assert overdue(asked, TriggerOptions(), 60.0).facts == {
        "pipeline": "default",
        "checkpoint_id": 12,
        "waited_s": "60.0",
    }


def test_who_interrupts_it_is_told_whether_a_checkpoint_goes_on(asked: TriggerRequest) -> None:
    nobody = interrupted(asked, TriggerOptions())
    assert "nobody answered" in nobody.message
    assert "goes on" not in str(nobody)
    asked.on_message(announce("default"))
    assert "not begun" in interrupted(asked, TriggerOptions()).message
    asked.on_message(progress(TriggerState.STARTED, 5))
    begun = interrupted(asked, TriggerOptions())
    assert "goes on" in begun.message
    assert begun.facts["checkpoint_id"] == 5


def test_a_signal_is_asked_for_with_its_kind_and_category() -> None:
    for signal, category in (
        (BarrierSignal("SyncTest", 0), SignalCategory.BARRIER),
        (InstantSignal("SyncTest"), SignalCategory.INSTANT),
    ):
        request = TriggerRequest(7, "default", signal=signal).due(0)
        assert request == TriggerSignal(
            correlation_id=7, category=category, kind=SignalKind.SYNC_TEST, pipeline="default"
        )
