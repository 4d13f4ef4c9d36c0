# SPDX-License-Identifier: Apache-2.0
"""The rules of attaching: the table of PROTOCOL 10.4, one function for each group of its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from framegate.driver.lease_actions import StreamProfile
from framegate.driver.lease_rules import LeaseRules
from framegate.driver.streams import Stream
from framegate.schema.driver import (
    HugepagesPolicy,
    PublishMode,
    ResponseCode,
    Role,
    ShmAttachRequest,
)
from framegate.shmpool.layout.region_numbers import LAYOUT_VERSION

_NULL_U32: Final = 2**32 - 1


@dataclass(frozen=True, slots=True)
class Refusal:
    """The refusal of a request. ``cause`` is the name of its counter."""

    code: ResponseCode
    cause: str
    text: str


def _rejected(cause: str, text: str) -> Refusal:
    return Refusal(ResponseCode.REJECTED, cause, text)


def _invalid(cause: str, text: str) -> Refusal:
    return Refusal(ResponseCode.INVALID_PARAMS, cause, text)


DRAINING: Final = _rejected("draining", "the driver is shutting down")
CLIENT_ATTACHED: Final = _rejected("client_attached", "client_id already attached")


def check_request(request: ShmAttachRequest, rules: LeaseRules) -> Refusal | None:
    """Check what can be decided without the stream."""
    if request.client_id == 0:
        return _invalid("invalid_params", "client_id 0 stands for no client: choose another")
    if request.stream_id == _NULL_U32:
        return _invalid("invalid_params", f"stream_id {_NULL_U32} is the null value")
    if request.expected_layout_version not in (0, LAYOUT_VERSION):
        text = f"layout version {request.expected_layout_version} was expected, {LAYOUT_VERSION} is active"
        return _rejected("layout_version", text)
    return _check_hugepages(request.require_hugepages, rules)


def _check_hugepages(policy: HugepagesPolicy, rules: LeaseRules) -> Refusal | None:
    if wants_hugepages(policy, rules) and not rules.has_hugepages:
        return _rejected("hugepages", "the base directory is not on huge pages")
    if policy == HugepagesPolicy.STANDARD and rules.has_hugepages:
        return _rejected("hugepages", "the base directory is on huge pages and has no standard pages")
    return None


def wants_hugepages(policy: HugepagesPolicy, rules: LeaseRules) -> bool:
    """Whether this request insists on huge pages; UNSPECIFIED leaves it to the configuration."""
    if policy == HugepagesPolicy.UNSPECIFIED:
        return rules.require_hugepages
    return policy == HugepagesPolicy.HUGEPAGES


def check_absent(request: ShmAttachRequest, rules: LeaseRules) -> Refusal | None:
    """Check a request for a stream that does not exist and is not static."""
    if not rules.allow_dynamic_streams:
        return _rejected("no_stream", f"stream {request.stream_id} is not configured, and dynamic streams are off")
    # A null value means REQUIRE_EXISTING: nothing is created unless the request says so (PROTOCOL 14.43).
    if request.publish_mode != PublishMode.EXISTING_OR_CREATE:
        return _rejected("no_stream", f"stream {request.stream_id} is not there, and its creation was not asked for")
    if rules.dynamic_ids is None:
        return _invalid("no_range", "dynamic streams have no range of ids: set driver.stream_id_range")
    if request.stream_id != 0 and request.stream_id not in rules.dynamic_ids:
        ids, asked = rules.dynamic_ids, request.stream_id
        text = f"stream {asked} is outside the range of dynamic streams, {ids}: {ids.instead_of(asked)} for instance"
        return _rejected("out_of_range", text)
    return None


def check_profile(profile: StreamProfile) -> Refusal | None:
    """A stream needs a pool to put payloads into."""
    return None if profile.pools else _invalid("no_pools", "the stream's profile has no payload pools")


def check_role(request: ShmAttachRequest, stream: Stream) -> Refusal | None:
    """Check the role: a stream has one producer at most, and any number of consumers."""
    if request.role == Role.PRODUCER and stream.producer is not None:
        text = f"stream {stream.stream_id} has a producer, client {stream.producer.client_id}"
        return _rejected("producer_exists", text)
    return None


def node_id_taken(node_id: int | None) -> Refusal:
    """The refusal of a node id that belongs to another client, or is cooling down."""
    return _rejected("node_id", f"node id {node_id} is not available")


def full(what: str, limit: int) -> Refusal:
    """The refusal for a bound of the driver that was reached."""
    return _rejected(f"{what}_limit", f"the driver has its maximum of {limit} {what}")
