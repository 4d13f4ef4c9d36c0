# SPDX-License-Identifier: Apache-2.0
"""What an aligner is told at the start, checked once for both implementations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from framegate.joinbarrier.checkpoint.messages import U64_MAX
from framegate.joinbarrier.checkpoint.numbers import nanoseconds, whole
from framegate.schema.errors import InvalidValue

INPUTS_MAX: Final = 128
"""Inputs are bits of a 128-bit word."""
BUFFERED_EVENTS_MAX: Final = 1 << 24
"""Events that can wait at all inputs together, whatever the limit of one is; their room is reserved at the start."""
MIB: Final = 1 << 20
INFLIGHT_EVENTS_MAX: Final = 1 << 20
"""Events that one checkpoint can capture; their room is reserved at the start."""
Implementation: TypeAlias = Literal["native", "reference"]
_IMPLEMENTATIONS: Final = ("native", "reference")


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignerSettings:
    """Limits and time-out of a BarrierAligner."""

    num_inputs: int
    max_buffer_per_input: int
    max_buffer_memory_bytes: int
    alignment_timeout_ns: int
    floor: int
    """Ids up to this one are over."""

    @property
    def max_buffered_events(self) -> int:
        """At all inputs together."""
        return min(self.num_inputs * self.max_buffer_per_input, BUFFERED_EVENTS_MAX)

    @property
    def all_inputs(self) -> int:
        """Every input's bit."""
        return (1 << self.num_inputs) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class UnalignedSettings:
    """What an UnalignedCheckpointer has beside its aligner."""

    aligner: AlignerSettings
    is_enabled: bool
    is_forced: bool
    max_inflight_bytes: int
    late_barrier_timeout_ns: int | None
    max_inflight_events: int = INFLIGHT_EVENTS_MAX


def aligner_settings(
    num_inputs: int, max_buffer_per_input: int, max_buffer_memory_bytes: int, alignment_timeout_s: float, floor: int
) -> AlignerSettings:
    """Checked; raises InvalidValue."""
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
    """Which implementation; raises InvalidValue for one that there is not."""
    if impl not in _IMPLEMENTATIONS:
        raise InvalidValue(f"one of {', '.join(_IMPLEMENTATIONS)}", field="impl", found=impl)
    return impl == "native"
