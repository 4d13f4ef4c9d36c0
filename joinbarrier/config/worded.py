# SPDX-License-Identifier: Apache-2.0
"""A join that was given in words, as the tables of a join.toml: which policy the words ask for, and what drives it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any, Final

from framegate.joinbarrier.config.words import Rule
from framegate.schema.errors import WrongUsage

_NS_PER_S: Final = 1_000_000_000


def tables_of(rules: Mapping[str, Rule], journal: str, every_ns: int | None = None) -> dict[str, Any]:
    """The tables ``join`` and ``input``. The first input drives the join, unless a clock does. Raises WrongUsage.

    >>> tables_of({"left": Rule(), "right": Rule("offset", -2)}, "out/a")["join"]
    {'journal': 'out/a', 'out_stream': 'a_joined', 'policy': 'sequence'}
    >>> tables_of({"left": Rule(), "imu": Rule("nearest", 10_000_000)}, "out/a")["input"][1]
    {'name': 'imu', 'tolerance_ns': 10000000, 'pick': 'nearest'}
    """
    if every_ns is not None:
        policy, drive = _by_clock(rules, every_ns)
    else:
        policy, drive = _by_first(rules)
    join = {"journal": journal, "out_stream": out_stream_name(journal), "policy": policy}
    inputs = [_input(name, rule, policy, drive) for name, rule in rules.items()]
    return {"join": join | ({"drive": drive} if drive else {}), "input": inputs}


def out_stream_name(journal: str) -> str:
    """The name of the output stream, after the journal's folder.

    >>> out_stream_name("out/Two cameras")
    'two_cameras_joined'
    """
    name = re.sub(r"[^a-z0-9_]+", "_", PurePath(journal).name.lower()).strip("_")[:48]
    return f"{name if name[:1].isalpha() else f'join_{name}'}_joined"


def _by_first(rules: Mapping[str, Rule]) -> tuple[str, str]:
    if not any(rule.is_by_time for rule in rules.values()):
        return "sequence", ""
    first, rule = next(iter(rules.items()))
    if rule.kind or rule.is_optional:
        raise WrongUsage(
            "the first input drives the join, so it has no rule of its own",
            input=first,
            hint="Name another input first, or let a clock drive the join (--every 100ms, every=...).",
        )
    for name, each in rules.items():
        if each.kind == "window":
            raise WrongUsage(
                "a window of frames cannot stand beside rules of time",
                input=name,
                hint="Give it nearest D, newest D or offset N.",
            )
    return "timestamp", f"input:{first}"


def _by_clock(rules: Mapping[str, Rule], every_ns: int) -> tuple[str, str]:
    for name, each in rules.items():
        if each.kind in ("offset", "window"):
            raise WrongUsage(
                "a clock has no sequence that an offset or a window could count from",
                input=name,
                hint="Give it nearest D, newest D or latest, or leave the clock out.",
            )
    has_bound = any(rule.kind in ("nearest", "newest") for rule in rules.values())
    return "timestamp" if has_bound else "latest", f"clock:{_NS_PER_S / every_ns:.9g}"


def _input(name: str, rule: Rule, policy: str, drive: str) -> dict[str, Any]:
    found: dict[str, Any] = {"name": name}
    if rule.kind in ("offset", "window"):
        found[rule.kind] = rule.amount
    elif rule.kind in ("nearest", "newest"):
        found |= {"tolerance_ns": rule.amount, "pick": rule.kind}
    elif policy == "timestamp" and drive != f"input:{name}":
        # In step with the driving input; a clock has no steps.
        is_in_step = not rule.kind and drive.startswith("input:")
        found |= {"offset": 0} if is_in_step else {"pick": "latest"}
    if rule.is_once and rule.is_by_time and policy == "timestamp":
        found["reuse"] = False
    return found | ({"optional": True} if rule.is_optional else {})
