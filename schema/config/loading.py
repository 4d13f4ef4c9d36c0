# SPDX-License-Identifier: Apache-2.0
"""Loading a configuration: command line over environment over file over default, every mistake with its place.

Any model made of `Section`s can be loaded::

    class JoinConfig(Section):
        join: JoinSection

    config = load(JoinConfig, Path("join.toml"), os.environ, {"join.outputs": Given(10, "--outputs")})

Each key has a variable: the prefix, then the path in upper case with underscores, ``FRAMEGATE_JOIN_OUTPUTS``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from framegate.schema.config.environment import unknown_variables, variables
from framegate.schema.config.layers import Layers, Option, Variable
from framegate.schema.config.problems import Problem, raise_first, translate
from framegate.schema.config.toml_file import KeyPath, read_toml
from framegate.schema.config.types import Context, Section
from pydantic import ValidationError

PREFIX: Final = "FRAMEGATE_"
_Model = TypeVar("_Model", bound=Section)


@dataclass(frozen=True, slots=True)
class Given:
    """A value from the command line, with the option that a mistake is to be blamed on."""

    value: Any
    option: str


def load(
    model: type[_Model],
    path: Path | None,
    environment: Mapping[str, str],
    overrides: Mapping[str, Given | None],
    env_prefix: str = PREFIX,
    context: Context | None = None,
) -> _Model:
    """Load ``model``; an override of None is an option that was not given.

    Raises FileMissing, InvalidToml, UnknownKey, WrongType, MissingKey or ConflictingKeys. Of several mistakes it
    is the first in the file, then in the environment, then on the command line; ``further`` counts the others.
    """
    layers = Layers(read_toml(path) if path else None)
    found = list(variables(model, env_prefix, environment, layers.values))
    for variable in found:
        layers.put(variable.key, variable.value, Variable(variable.name))
    for dotted, given in overrides.items():
        if given is not None:
            layers.put(_key(dotted), given.value, Option(given.option))
    stray = unknown_variables(model, env_prefix, environment, used={variable.name for variable in found})
    return _validated(model, layers, list(stray), context)


def _validated(model: type[_Model], layers: Layers, problems: list[Problem], context: Context | None) -> _Model:
    try:
        config = model.model_validate(layers.values, context=context)
    except ValidationError as error:
        raise_first([*problems, *translate(model, error, layers)])
    if problems:
        raise_first(problems)
    return config


def _key(dotted: str) -> KeyPath:
    return tuple(dotted.split("."))
