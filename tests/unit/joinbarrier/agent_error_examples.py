# SPDX-License-Identifier: Apache-2.0
"""What raises each numbered error of the join agent, through product code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any, Final

from framegate.joinbarrier.agent.join_agent import JoinAgent
from framegate.joinbarrier.agent.offline.disk_room import OfflineRoom
from framegate.joinbarrier.agent.offline.memory import frames_without_room
from framegate.joinbarrier.agent.problems import problems_of, settle
from framegate.joinbarrier.agent.rejected_inputs import look_at_rejections
from framegate.joinbarrier.config.configuration import JoinConfig
from framegate.joinbarrier.journal.description import JournalInput
from framegate.joinbarrier.journal.folder import JournalFolder, JournalShape

from tests.unit.joinbarrier.journal.journal_world import fill, writer


def _shape(policy: str = "sequence") -> JournalShape:
    inputs = (JournalInput(name="left", stream=10001),)
    return JournalShape(out_stream=20001, policy=policy, inputs=inputs, durability="memory", reader_lease_s=600)


def _busy() -> None:
    with TemporaryDirectory() as folder, JournalFolder(Path(folder), _shape()):
        JournalFolder(Path(folder), _shape())


def _mismatch() -> None:
    with TemporaryDirectory() as folder:
        fill(writer(Path(folder)), 1)
        JournalFolder(Path(folder), _shape("latest"))


def _restarted() -> None:
    outcome: dict[str, Any] = {"has_new_epoch": True, "has_rejections": False, "is_finished": False}
    agent = JoinAgent.__new__(JoinAgent)
    scene: dict[str, Any] = {
        "_engine": SimpleNamespace(run=lambda _slice, _outputs: outcome),
        "_applied": None,
        "_heard_streams": SimpleNamespace(is_read=True),
        "outputs": 0,
        "_actions": [],
        "folder": SimpleNamespace(path="journal"),
        "config": SimpleNamespace(join=SimpleNamespace(on_input_restart="stop")),
    }
    agent.__dict__.update(scene)
    agent.work()


def _rejected() -> None:
    left = {"name": "left", "stream": 10001}
    config = JoinConfig.model_validate({"join": {"policy": "timestamp"}, "input": [left]})
    engine: Any = SimpleNamespace(take_rejections=lambda: [(10001, 1, 7, 0, 2_000, 1_000)])
    look_at_rejections(engine, config)


def _failed() -> None:
    agent = JoinAgent.__new__(JoinAgent)
    scene: dict[str, Any] = {"_engine": None, "folder": SimpleNamespace(path="journal")}
    agent.__dict__.update(scene)
    _ = agent.engine


def _full() -> None:
    engine: Any = SimpleNamespace(set_floor=lambda _row: None, counters=lambda: {"journal": {"next_row": 5}})
    folder: Any = SimpleNamespace(path="journal")
    OfflineRoom(max_bytes=1 << 20, may_wait=False).make(engine, folder, "no reader has committed", 7)


def _no_rows() -> None:
    agent = JoinAgent.__new__(JoinAgent)
    agent.__dict__.update(has_begun=True, config=SimpleNamespace(has_timestamp_map=False))
    summary = {"rows": 0, "unmatched": {"left": 5}, "causes": {"left": {"no_match": 5}}}
    settle(problems_of(agent, summary), is_strict=True)


def _without_room() -> None:
    lost = frames_without_room({"causes": {"left": {"no_room": 3}}}, 1 << 28)
    assert lost is not None
    raise lost


AGENT_ERROR_EXAMPLES: Final[dict[int, Callable[[], object]]] = {
    420: _busy,
    421: _mismatch,
    422: _restarted,
    423: _failed,
    424: _rejected,
    425: _no_rows,
    426: _without_room,
    427: _full,
}
