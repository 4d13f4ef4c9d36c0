# SPDX-License-Identifier: Apache-2.0
"""What must fit together in a join.toml: each mistake names the key that is wrong and the one that it does not suit.

A key that a policy has no use for is refused where it says something; at its default it says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from framegate.joinbarrier.config.drive import Drive, is_target
from framegate.joinbarrier.config.policies import POLICIES, PolicyName
from framegate.schema.config.toml_file import KeyPath
from framegate.schema.config.types import Conflict

if TYPE_CHECKING:
    from framegate.joinbarrier.config.configuration import JoinConfig
    from framegate.joinbarrier.config.sections import InputSection

_POLICY: Final = ("join", "policy")
_ALL_RULE_KEYS: Final = tuple(key for policy in POLICIES.values() for key in policy.rule_keys)


def conflicts(config: JoinConfig) -> Iterator[Conflict]:
    """Everything that cannot stand together."""
    yield from _names(config)
    yield from _streams(config)
    for index, each in enumerate(config.input):
        yield from _rule(config, index, each)
        yield from _timestamp_only(config.join.policy, index, each)
        yield from _processed(index, each)
    yield from _regressed(config)
    yield from _drive(config)
    yield from _publish(config)
    yield from _map_wide(config)
    yield from _sizes(config)


def _names(config: JoinConfig) -> Iterator[Conflict]:
    owners: dict[str, int] = {}
    for index, each in enumerate(config.input):
        if (owner := owners.setdefault(each.name, index)) != index:
            yield Conflict(_key(index, "name"), _key(owner, "name"), f'two inputs are called "{each.name}"')


def _streams(config: JoinConfig) -> Iterator[Conflict]:
    for index, each in enumerate(config.input):
        if each.stream == config.join.out_stream:
            message = f"stream {each.stream} cannot be an input of itself"
            yield Conflict(_key(index, "stream"), ("join", "out_stream"), message)


def _regressed(config: JoinConfig) -> Iterator[Conflict]:
    """A stream's frames are looked at once, for all of its inputs."""
    owners: dict[int, int] = {}
    for index, each in enumerate(config.input):
        owner = owners.setdefault(each.stream, index)
        if each.regressed != config.input[owner].regressed:
            message = f"inputs of one stream agree: {config.input[owner].name} has {config.input[owner].regressed}"
            yield Conflict(_key(index, "regressed"), _key(owner, "regressed"), message)


def _rule(config: JoinConfig, index: int, each: InputSection) -> Iterator[Conflict]:
    policy = config.join.policy
    own = POLICIES[policy].rule_keys
    if policy == "timestamp" and each.offset is not None:
        yield from _by_sequence(config, index, each)
        own = (*own, "offset")
    if policy == "timestamp" and each.pick == "latest":
        yield from _without(index, each, "pick", ("window_ns", "tolerance_ns"), "any age is as good as another")
    for key in _ALL_RULE_KEYS:
        if key not in own and getattr(each, key) is not None:
            uses = f"it takes {' or '.join(own[:2])}" if own else "it takes no rule"
            yield Conflict(_key(index, key), _POLICY, f"{key} means nothing to the policy {policy}: {uses}")
    for one, other in (("offset", "window"), ("offset_ns", "window_ns")):
        if one in own and getattr(each, one) is not None and getattr(each, other) is not None:
            yield Conflict(_key(index, other), _key(index, one), f"a rule has {one} or {other}, not both")
    if "tolerance_ns" in own and each.tolerance_ns is not None and each.window_ns is not None:
        message = "a tolerance belongs to offset_ns: a window has its own bound"
        yield Conflict(_key(index, "tolerance_ns"), _key(index, "window_ns"), message)


def _by_sequence(config: JoinConfig, index: int, each: InputSection) -> Iterator[Conflict]:
    """In a join by time an offset counts from the frame that drives it."""
    drive = config.drive
    if drive.kind != "input" or drive.input == each.name:
        message = "in a join by time, offset counts from the frame of the input that drives it: another one must"
        yield Conflict(_key(index, "offset"), ("join", "drive"), message)
    others = ("offset_ns", "window_ns", "tolerance_ns")
    yield from _without(index, each, "offset", others, "a sequence is one certain frame")
    for key, default in (("pick", "newest"), ("reuse", True)):
        if getattr(each, key) != default:
            yield Conflict(_key(index, key), _key(index, "offset"), "a sequence is one certain frame: none is picked")


def _without(index: int, each: InputSection, key: str, others: tuple[str, ...], why: str) -> Iterator[Conflict]:
    for other in others:
        if getattr(each, other) is not None:
            yield Conflict(_key(index, other), _key(index, key), f"{other} says nothing beside {key}: {why}")


def _timestamp_only(policy: PolicyName, index: int, each: InputSection) -> Iterator[Conflict]:
    if policy != "timestamp" and each.pick != "newest":
        yield _for("timestamp", _key(index, "pick"), policy)
    if policy != "timestamp" and not each.reuse:
        yield _for("timestamp", _key(index, "reuse"), policy)
    if policy != "timestamp" and each.regressed != "reject":
        yield _for("timestamp", _key(index, "regressed"), policy)
    if each.deadline_ms and not POLICIES[policy].needs_map:
        message = f"a deadline belongs to a rule, and the policy {policy} has none"
        yield Conflict(_key(index, "deadline_ms"), _POLICY, message)


def _processed(index: int, each: InputSection) -> Iterator[Conflict]:
    if each.processed:
        message = (
            "processed = true would wait for ever: no message says what a stage has consumed of an input, and a "
            "QosConsumer says only what its reader has seen. Leave the key out; join.wait_consumers waits for readers "
            "of what this join publishes"
        )
        yield Conflict(_key(index, "processed"), ("join", "wait_consumers"), message)


def _drive(config: JoinConfig) -> Iterator[Conflict]:
    key, policy, drive = ("join", "drive"), config.join.policy, config.drive
    if drive.kind not in (drives := POLICIES[policy].drives):
        message = f"the policy {policy} is driven by {', '.join(drives)}, not by {drive.kind}"
        yield Conflict(key, _POLICY, message)
    if drive.kind == "input":
        yield from _driving_input(config, key, drive)
    elif policy == "sequence" and all(each.optional for each in config.input):
        message = "with every input optional, each output would be ready at once: one of them must not be"
        yield Conflict(_key(0, "optional"), key, message)


def _driving_input(config: JoinConfig, key: KeyPath, drive: Drive) -> Iterator[Conflict]:
    found = next((index for index, each in enumerate(config.input) if each.name == drive.input), None)
    if found is None:
        known = ", ".join(each.name for each in config.input)
        yield Conflict(key, ("input",), f'there is no input "{drive.input}", only: {known}')
    elif config.input[found].optional:
        message = f'the input "{drive.input}" drives the join, so it cannot be optional'
        yield Conflict(_key(found, "optional"), key, message)


def _publish(config: JoinConfig) -> Iterator[Conflict]:
    key, publish = ("join", "publish"), config.join.publish
    if config.join.wait_consumers and not publish:
        yield Conflict(("join", "wait_consumers"), key, "nothing is published that consumers could read")
    if is_target(publish):
        if len(config.input) > 1:
            message = "a function can be published with one input only; with more, name the input to publish"
            yield Conflict(key, ("input",), message)
    elif publish and publish not in {each.name for each in config.input}:
        known = ", ".join(each.name for each in config.input)
        yield Conflict(key, ("input",), f'there is no input "{publish}", only: {known}')


def _map_wide(config: JoinConfig) -> Iterator[Conflict]:
    policy, section = config.join.policy, config.mergemap
    if section.order_by != "seq" and policy != "latest":
        yield _for("latest", ("mergemap", "order_by"), policy)
    if section.lateness_ns and policy != "timestamp":
        yield _for("timestamp", ("mergemap", "lateness_ns"), policy)
    if section.late != "drop" and policy != "timestamp":
        yield _for("timestamp", ("mergemap", "late"), policy)
    has_times = config.has_timestamp_map or config.drive.kind == "clock" or config.join.publish
    if section.clock_domain != "monotonic" and not has_times:
        message = f"the policy {policy} compares no times here and publishes no frames, so it has no clock domain"
        yield Conflict(("mergemap", "clock_domain"), _POLICY, message)
    if section.stale_timeout_ms and not POLICIES[policy].needs_map:
        message = f"staleness belongs to a map, and the policy {policy} has none"
        yield Conflict(("mergemap", "stale_timeout_ms"), _POLICY, message)


def _sizes(config: JoinConfig) -> Iterator[Conflict]:
    journal = config.journal
    for smaller, larger in (("seal_bytes", "segment_bytes"), ("segment_bytes", "max_bytes")):
        if getattr(journal, smaller) > getattr(journal, larger):
            message = f"{smaller} ({getattr(journal, smaller)}) is above {larger} ({getattr(journal, larger)})"
            yield Conflict(("journal", smaller), ("journal", larger), message)


def _for(owner: str, key: KeyPath, policy: str) -> Conflict:
    return Conflict(key, _POLICY, f"{key[-1]} is for the policy {owner}, not for {policy}")


def _key(index: int, name: str) -> KeyPath:
    return ("input", index, name)
