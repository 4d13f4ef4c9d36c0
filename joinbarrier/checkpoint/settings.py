# SPDX-License-Identifier: Apache-2.0
"""The settings of an aligner, checked once for both implementations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from framegate.joinbarrier.checkpoint.messages import U64_MAX
from framegate.joinbarrier.checkpoint.numbers import nanoseconds, whole
from framegate.schema.errors import InvalidValue

INPUTS_MAX: Final = 128
"""Most inputs of one aligner: each is a bit of a 128-bit word."""
BUFFERED_EVENTS_MAX: Final = 1 << 24
"""Most events that can wait at all inputs together, whatever the limit of one is. Space for them is reserved at the
start.
"""
MIB: Final = 1 << 20
INFLIGHT_EVENTS_MAX: Final = 1 << 20
"""Most events that one checkpoint can capture. Space for them is reserved at the start."""
Implementation: TypeAlias = Literal["native", "reference"]
_IMPLEMENTATIONS: Final = ("native", "reference")


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignerSettings:
    """The limits and the timeout of a BarrierAligner."""

    num_inputs: int
    max_buffer_per_input: int
    max_buffer_memory_bytes: int
    alignment_timeout_ns: int
    floor: int
    """The id up to which checkpoints are over."""

    @property
    def max_buffered_events(self) -> int:
        """Most events that can wait at all inputs together."""
        return min(self.num_inputs * self.max_buffer_per_input, BUFFERED_EVENTS_MAX)

    @property
    def all_inputs(self) -> int:
        """A bit for every input."""
        return (1 << self.num_inputs) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class UnalignedSettings:
    """The settings of an UnalignedCheckpointer, beside those of its aligner."""

    aligner: AlignerSettings
    is_enabled: bool
    is_forced: bool
    max_inflight_bytes: int
    late_barrier_timeout_ns: int | None
    max_inflight_events: int = INFLIGHT_EVENTS_MAX


def aligner_settings(
    num_inputs: int, max_buffer_per_input: int, max_buffer_memory_bytes: int, alignment_timeout_s: float, floor: int
) -> AlignerSettings:
    """Make checked settings. Raises InvalidValue."""
    num_inputs = whole("num_inputs", num_inputs, 1, INPUTS_MAX)
    per_input = whole("max_buffer_per_input", max_buffer_per_input, 0, U64_MAX)
    return AlignerSettings(
        num_inputs=num_inputs,
        max_buffer_per_input=per_input,
        max_buffer_memory_bytes=whole("max_buffer_memory_bytes", max_buffer_memory_bytes, 0, U64_MAX),
        alignment_timeout_ns=nanoseconds("alignment_timeout_s", alignment_timeout_s),
        floor=whole("floor", floor, 0, U64_MAX),
    )


def is_native(impl: str) -> bool:
    """Whether the implementation of this name is the native one. Raises InvalidValue for an unknown name."""
    if impl not in _IMPLEMENTATIONS:
        raise InvalidValue(f"one of {', '.join(_IMPLEMENTATIONS)}", field="impl", found=impl)
    return impl == "native"
