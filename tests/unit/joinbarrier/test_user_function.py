# SPDX-License-Identifier: Apache-2.0
"""Functions that a join.toml names: found, or told with what of them is not there."""

from __future__ import annotations

from pathlib import Path

import pytest
from framegate.joinbarrier.agent.duties import external_times
from framegate.joinbarrier.config.configuration import JoinConfig
from framegate.joinbarrier.config.user_function import user_function
from framegate.schema.errors import WrongUsage


@pytest.fixture(autouse=True)
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "users_module.py").write_text("number = 7\ndef double(value):\n    return 2 * value\n")
    (tmp_path / "users_mistake.py").write_text("import nothing_of_that_name\n")
    (tmp_path / "users_failure.py").write_text("raise RuntimeError('no camera')\n")
    monkeypatch.syspath_prepend(tmp_path)


def test_what_is_named_is_imported() -> None:
    assert user_function("join.publish", "users_module:double")(4) == 8


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("no_such_module:double", "No module named 'no_such_module'"),
        ("users_mistake:double", "nothing_of_that_name"),
        ("users_failure:double", "no camera"),
        ("users_module:triple", "users_module has no function triple"),
        ("users_module:number", "users_module has no function number"),
    ],
)
def test_what_of_it_is_not_there_is_told_with_the_key_that_named_it(target: str, said: str) -> None:
    with pytest.raises(WrongUsage) as told:
        user_function("join.publish", target)
    assert said in told.value.message
    assert (told.value.facts["key"], told.value.facts["target"]) == ("join.publish", target)
    assert "PYTHONPATH" in told.value.hint


def test_a_drive_without_its_function_is_wrong_usage() -> None:
    given = {"journal": "here", "policy": "timestamp", "drive": "external:no_such_module:next_time"}
    inputs = [{"name": "a", "stream": 10001, "offset_ns": 0}]
    with pytest.raises(WrongUsage, match=r"no_such_module"):
        external_times(JoinConfig.model_validate({"join": given, "input": inputs}))
