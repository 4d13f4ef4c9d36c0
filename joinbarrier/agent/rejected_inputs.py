# SPDX-License-Identifier: Apache-2.0
"""Rejected inputs: what a join does when the timestamps of an input go back."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from framegate.schema.console.quantities import duration
from framegate.schema.errors import InputRejected

if TYPE_CHECKING:
    from framegate.joinbarrier.config.configuration import JoinConfig

    from framegate._native import JoinEngine

_FIELDS: Final = ("slot_header", "frame_descriptor")
_log = logging.getLogger(__name__)


def look_at_rejections(engine: JoinEngine, config: JoinConfig) -> None:
    """Report every rejected input and the frame that caused it. Raises InputRejected if rows need the input."""
    for stream, epoch, seq, place, last_ns, found_ns in engine.take_rejections():
        on = [each for each in config.input if each.stream == stream]
        needed = [each for each in on if not each.optional]
        back = "" if last_ns is None or found_ns is None else f" by {duration(last_ns - found_ns)}"
        error = InputRejected(
            f"its timestamps went back{back}: no row has it until its producer starts anew",
            input=(needed or on)[0].name,
            stream=stream,
            epoch=epoch,
            seq=seq,
            source=_FIELDS[place],
            last_ns=last_ns,
            found_ns=found_ns,
            key="regressed",
        )
        if needed:
            raise error
        _log.error("%s", error)
