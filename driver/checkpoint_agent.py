# SPDX-License-Identifier: Apache-2.0
"""The checkpoint coordinators of a driver: they take messages and results, and give messages and orders.

They have no stream of their own: the lease driver's agent receives and sends for them. No message of a peer makes them
raise.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Final, TypeAlias, get_args

from framegate.driver.checkpoint_section import CheckpointSection
from framegate.driver.checkpoint_worker import Orders, StoreWorker
from framegate.joinbarrier.checkpoint.coordinator.actions import Action, Allocate, Finish, Say, Warn
from framegate.joinbarrier.checkpoint.coordinator.coordinator import Coordinator
from framegate.joinbarrier.checkpoint.coordinator.issued_ids import sole_coordinator
from framegate.joinbarrier.checkpoint.coordinator.store import CoordinatorStore
from framegate.joinbarrier.checkpoint.store_files import store_files
from framegate.schema.codec import HEADER, HEADER_LENGTH
from framegate.schema.control import (
    SCHEMA_ID,
    BarrierAck,
    CheckpointAborted,
    ControlSignal,
    IngressHello,
    IngressPlace,
    OperatorHello,
    PipelineAnnounce,
    TriggerCheckpoint,
    TriggerSignal,
)
from framegate.schema.errors import MessageError

_Heard: TypeAlias = (
    OperatorHello
    | BarrierAck
    | TriggerCheckpoint
    | CheckpointAborted
    | PipelineAnnounce
    | TriggerSignal
    | ControlSignal
    | IngressHello
    | IngressPlace
)
_KINDS: Final[dict[int, type[_Heard]]] = {kind.TEMPLATE_ID: kind for kind in get_args(_Heard)}
Send: TypeAlias = Callable[[bytes, bool], None]
"""Sends a message on the control stream; the second argument says whether the message is periodic."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Pipeline:
    """One pipeline: its coordinator, and the worker that carries out the coordinator's orders."""

    coordinator: Coordinator
    orders: Orders
    store_counts: Counter[str]


class CheckpointAgent:
    """The checkpoints of all pipelines of one driver."""

    def __init__(self, pipelines: Iterable[Pipeline] = ()) -> None:
        self.counts = Counter[str]()
        self._pipelines = {each.coordinator.rules.pipeline: each for each in pipelines}
        self._send: Send = _nowhere

    def start(self, send: Send, now_ns: int) -> None:
        """Start the coordinators. From now on they send by ``send``."""
        self._send = send
        for each in self._pipelines.values():
            self._carry_out(each, each.coordinator.start(now_ns))

    @property
    def is_idle(self) -> bool:
        """Whether no checkpoint is under way."""
        return all(each.coordinator.is_idle for each in self._pipelines.values())

    def hear(self, data: bytes, now_ns: int) -> bool:
        """Read one control message. Returns whether it was for a coordinator."""
        if not self._pipelines or len(data) < HEADER_LENGTH:
            return False
        _, template, schema, _ = HEADER.unpack_from(data)
        if schema != SCHEMA_ID:
            return False
        kind = _KINDS.get(template)
        if kind is None:
            return False
        try:
            message = kind.decode(data)
        except MessageError:
            self.counts["malformed"] += 1
            return True
        pipeline = self._pipelines.get(message.pipeline)
        if pipeline is None:
            self.counts["other_pipelines"] += 1
        else:
            self._carry_out(pipeline, pipeline.coordinator.on_message(message, now_ns))
        return True

    def do_work(self, now_ns: int, heard_ns: int) -> int:
        """Take the results of orders, and act on the time. Returns how much was done."""
        done = 0
        for each in self._pipelines.values():
            for result in each.orders.results():
                done += 1 + self._carry_out(each, each.coordinator.on_result(result, now_ns))
            done += self._carry_out(each, each.coordinator.tick(now_ns, heard_ns))
        return done

    def shutdown(self, now_ns: int) -> None:
        """Give up the checkpoints under way. Idempotent. ``do_work`` until ``is_idle`` finishes the others."""
        for each in self._pipelines.values():
            self._carry_out(each, each.coordinator.shutdown(now_ns))

    def counters(self) -> dict[str, dict[str, int]]:
        """The counters of each pipeline: its state, and what was done and failed, by cause; only counts above 0."""
        return {name: _counters(each) for name, each in self._pipelines.items()}

    def _carry_out(self, pipeline: Pipeline, actions: list[Action]) -> int:
        for action in actions:
            match action:
                case Say():
                    self._send(action.message.encode(), action.is_periodic)
                case Allocate() | Finish():
                    pipeline.orders.give(action)
                case Warn():
                    _log.warning("%s", action.text)
        return len(actions)


def _counters(pipeline: Pipeline) -> dict[str, int]:
    coordinator = pipeline.coordinator
    state = {
        "last_checkpoint_id": coordinator.last_checkpoint_id,
        "epoch": coordinator.epoch,
        "operators": len(coordinator.operators),
        "completed": 0,
        "aborted": 0,
    }
    return state | dict(sorted((coordinator.counts + pipeline.store_counts).items()))


def _nowhere(_message: bytes, _is_periodic: bool) -> None:
    """Send nothing, before ``start`` was called."""


@contextmanager
def coordinating(sections: dict[str, CheckpointSection]) -> Iterator[CheckpointAgent]:
    """Run the coordinators of these pipelines, each the only one on its store. In the end, all orders are done."""
    with ExitStack() as stack:
        yield CheckpointAgent([_pipeline(name, section, stack) for name, section in sections.items()])


def _pipeline(name: str, section: CheckpointSection, stack: ExitStack) -> Pipeline:
    files = store_files(section.place)
    stack.enter_context(sole_coordinator(files, section.place))
    store = CoordinatorStore(section.place, name, section.keep, files)
    issued, predecessor = store.begin_epoch()
    worker = StoreWorker(store, name)
    stack.callback(worker.close)
    return Pipeline(Coordinator(section.rules(name), issued, predecessor), worker, store.counts)
