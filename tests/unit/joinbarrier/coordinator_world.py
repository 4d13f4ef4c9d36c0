# SPDX-License-Identifier: Apache-2.0
"""A coordinator without a driver: what lasts is a value, what is said is a list, operators are one line each."""

from __future__ import annotations

from typing import Final, TypeVar

from framegate.joinbarrier.checkpoint.coordinator.actions import (
    Action,
    Allocate,
    Allocated,
    AllocationFailed,
    CoordinatorRules,
    Finish,
    IssuedIds,
    Predecessor,
    Result,
    Say,
    Stored,
    StoreProblem,
    Warn,
)
from framegate.joinbarrier.checkpoint.coordinator.coordinator import Coordinator
from framegate.schema import Message
from framegate.schema.control import (
    AbortCause,
    AckStatus,
    BarrierAck,
    IngressHello,
    IngressPlace,
    OperatorHello,
    OperatorState,
    TriggerCheckpoint,
)

MS: Final = 1_000_000
SECOND: Final = 1_000 * MS
RULES: Final = CoordinatorRules(
    pipeline="default", store="/data/ck", operator_timeout_ms=3_000, checkpoint_timeout_ns=41 * SECOND
)
_Kind = TypeVar("_Kind", bound=Message)


class World:
    """One pipeline through any number of lives of its coordinator."""

    def __init__(self, rules: CoordinatorRules = RULES) -> None:
        self.rules = rules
        self.now_ns = 5 * SECOND
        self.lasting = IssuedIds(0, 0)
        self.manifests: dict[int, Finish] = {}
        self.said: list[Message] = []
        self.warnings: list[str] = []
        self.orders: list[Allocate | Finish] = []
        self.restart()

    def restart(self) -> None:
        """The process dies, with what it was about to do, and starts again."""
        self.orders.clear()
        last = self.lasting.last_checkpoint_id
        self.lasting = IssuedIds(last, self.lasting.epoch + 1)
        newest = self.manifests[max(self.manifests)].acknowledged if self.manifests else ()
        operators = tuple(name for name, _ in newest)
        predecessor = Predecessor(last, last in self.manifests, operators) if last else None
        self.coordinator = Coordinator(self.rules, self.lasting, predecessor)
        self.do(self.coordinator.start(self.now_ns))

    def do(self, actions: list[Action]) -> None:
        for action in actions:
            match action:
                case Say():
                    self.said.append(action.message)
                case Warn():
                    self.warnings.append(action.text)
                case Allocate() | Finish():
                    self.orders.append(action)

    def hear(self, message: Message) -> None:
        self.do(self.coordinator.on_message(message, self.now_ns))

    def hello(
        self,
        operator_id: str = "join",
        instance_id: int = 1,
        *,
        last_checkpoint_id: int = 0,
        state: OperatorState = OperatorState.PRESENT,
    ) -> None:
        self.hear(
            OperatorHello(
                instance_id=instance_id,
                last_checkpoint_id=last_checkpoint_id,
                state=state,
                pipeline=self.rules.pipeline,
                operator_id=operator_id,
            )
        )

    def shares(self, operator_id: str, *streams: int, instance_id: int = 1) -> None:
        """It says which streams it cuts by itself, then hello."""
        for stream in streams:
            self.hear(
                IngressHello(
                    instance_id=instance_id,
                    stream_id=stream,
                    pipeline=self.rules.pipeline,
                    operator_id=operator_id,
                )
            )
        self.hello(operator_id, instance_id)

    def stands(self, operator_id: str, stream: int, epoch: int | None, seq: int | None) -> None:
        """It says where it has stopped."""
        self.hear(
            IngressPlace(
                checkpoint_id=self.lasting.last_checkpoint_id,
                epoch=self.coordinator.epoch,
                stream_id=stream,
                source_epoch=epoch,
                after_seq=seq,
                pipeline=self.rules.pipeline,
                operator_id=operator_id,
            )
        )

    def trigger(self, correlation_id: int = 7, flags: int = 0) -> None:
        self.hear(TriggerCheckpoint(correlation_id=correlation_id, flags=flags, pipeline=self.rules.pipeline))

    def ack(
        self,
        operator_id: str,
        status: AckStatus,
        *,
        stored_bytes: int = 10,
        reason: str = "",
        checkpoint_id: int | None = None,
        epoch: int | None = None,
    ) -> None:
        attempt = self.coordinator.attempt
        current = attempt.checkpoint_id if attempt is not None else 0
        self.hear(
            BarrierAck(
                checkpoint_id=current if checkpoint_id is None else checkpoint_id,
                epoch=self.coordinator.epoch if epoch is None else epoch,
                status=status,
                duration_ns=1,
                bytes=stored_bytes,
                pipeline=self.rules.pipeline,
                operator_id=operator_id,
                reason=reason,
            )
        )

    def acks(self, *operators: str) -> None:
        """Both steps of each."""
        for name in operators:
            self.ack(name, AckStatus.SNAPSHOT_TAKEN)
            self.ack(name, AckStatus.COMPLETE, stored_bytes=0)

    def answer(self, *, fails: bool = False, was_switched: bool = False, is_unaligned: bool = False) -> None:
        """The store carries the oldest order out."""
        order = self.orders.pop(0)
        result: Result
        if isinstance(order, Allocate):
            checkpoint_id = order.issued.last_checkpoint_id
            if not fails:
                self.lasting = order.issued
            result = AllocationFailed(checkpoint_id, "no room") if fails else Allocated(checkpoint_id)
        elif fails:
            result = StoreProblem(order.checkpoint_id, AbortCause.STORE_FAILED, "no room")
        else:
            self.manifests[order.checkpoint_id] = order
            result = Stored(
                checkpoint_id=order.checkpoint_id,
                size_bytes=sum(size for _, size in order.acknowledged),
                is_unaligned=was_switched or is_unaligned,
                was_threshold_triggered=was_switched,
            )
        self.do(self.coordinator.on_result(result, self.now_ns))

    def tick(self, delta_ns: int = 0) -> None:
        self.now_ns += delta_ns
        self.do(self.coordinator.tick(self.now_ns))

    def settle(self, *operators: str) -> None:
        """These operators are there, and all had time to be."""
        self.tick(self.rules.operator_timeout_ns)
        for name in operators:
            self.hello(name)
        self.said.clear()

    def begin(self, *operators: str, correlation_id: int = 7, flags: int = 0) -> int:
        """A checkpoint that these take part in, its barrier asked for; its id."""
        for name in operators:
            self.hello(name)
        self.trigger(correlation_id, flags)
        self.answer()
        assert self.coordinator.attempt is not None
        return self.coordinator.attempt.checkpoint_id

    def take(self, kind: type[_Kind]) -> list[_Kind]:
        """What of this kind was said since this was asked."""
        found = [each for each in self.said if isinstance(each, kind)]
        self.said = [each for each in self.said if not isinstance(each, kind)]
        return found
