# SPDX-License-Identifier: Apache-2.0
"""docs/rigs.md names every kind of part and every key of a rig file."""

from __future__ import annotations

from pathlib import Path

import pytest
from framegate.schema.config.keys import named_section
from framegate.schema.config.types import Section
from framegate.tools.rig import templates
from framegate.tools.rig.sections import DriverPart, JoinPart, PartSection, RigFile, RigSection

PAGE = (Path(__file__).resolve().parents[4] / "docs" / "rigs.md").read_text()
TABLES_OF_A_JOIN = {"join", "journal", "mergemap", "checkpoint", "input", "client"}
KINDS = {name: named_section(field.annotation) for name, field in RigFile.model_fields.items()}


def keys(model: type[Section]) -> set[str]:
    shared = set(PartSection.model_fields) if issubclass(model, PartSection) else set()
    return set(model.model_fields) - shared - (TABLES_OF_A_JOIN if model is JoinPart else set())


@pytest.mark.parametrize("model", [PartSection, DriverPart, RigSection, *filter(None, KINDS.values())])
def test_every_key_is_explained(model: type[Section]) -> None:
    wanted = set(PartSection.model_fields) if model is PartSection else keys(model)
    assert not [key for key in wanted if f"`{key}`" not in PAGE]


@pytest.mark.parametrize("kind", [name for name, model in KINDS.items() if model is not None])
def test_every_kind_has_its_row(kind: str) -> None:
    assert f"| `[{kind}.NAME]` |" in PAGE


def test_every_ready_made_rig_says_what_it_shows() -> None:
    for name in templates.names():
        assert 20 < len(templates.title(name)) < 120
        assert f"framegate up {name}.toml" in templates.files_of(name)[f"{name}.toml"]
