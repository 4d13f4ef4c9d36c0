# SPDX-License-Identifier: Apache-2.0
"""``framegate checkpoint signal``: a signal on a pipeline's control channel; waits until every agent handled it."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from framegate.joinbarrier.checkpoint.signals import KINDS, SYNC_TEST, BarrierSignal, InstantSignal, Signal
from framegate.joinbarrier.checkpoint.trigger_request import TriggerRequest
from framegate.joinbarrier.commands.checkpoint_trigger import TriggerOptions, ask
from framegate.schema.console.quantities import rounded
from framegate.schema.console.reporting import emit
from framegate.schema.errors import DONE, WrongUsage


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalOptions(TriggerOptions):
    """What the command line said."""

    kind: str = SYNC_TEST
    instant: bool = False


def run(options: SignalOptions) -> int:
    """Ask, wait and print; the exit code."""
    if options.kind not in KINDS:
        raise WrongUsage(f"KIND is one of {', '.join(KINDS)}, not {options.kind!r}")
    # The coordinator gives the id.
    signal: Signal = InstantSignal(options.kind) if options.instant else BarrierSignal(options.kind, 0)
    outcome = ask(TriggerRequest(secrets.randbits(63) + 1, options.pipeline, signal=signal), options)
    if options.json:
        found = {"kind": options.kind, "barrier_id": outcome.checkpoint_id, "pipeline": options.pipeline}
        emit({"event": "signal", **found, "duration_ms": (outcome.duration_ns or 0) / 1e6})
    elif options.instant:
        print(f"{options.kind} of {options.pipeline}: sent")
    else:
        took = rounded(outcome.duration_ns or 0)
        print(f"{options.kind} {outcome.checkpoint_id} of {options.pipeline}: every agent, in {took}")
    return DONE
