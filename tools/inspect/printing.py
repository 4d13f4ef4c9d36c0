# SPDX-License-Identifier: Apache-2.0
"""Lines for people. What comes from a file must not drive the terminal that it is shown on."""

from __future__ import annotations

import json
import re
from datetime import datetime
from typing import Any, Final

from framegate.shmpool.client.stream_names import stream_called
from framegate.tools.inspect.seen import Seen

_SHOWN_BEFORE: Final = {"stream_id", "seq", "epoch", "timestamp_ns"}
_NS: Final = 1_000_000_000
_LATEST_S: Final = 253_402_300_799


def line(seen: Seen) -> str:
    """One line, whatever it holds.

    >>> line(Seen(kind="payload", stream=10001, seq=7, bytes=16))
    '10001 payload seq=7 bytes=16'
    """
    stream = "-" if seen.stream is None else stream_called(seen.stream, seen.name or None)
    words = [_when(seen.log_time_ns), stream, seen.kind]
    for name in ("seq", "epoch", "timestamp_ns"):
        value = getattr(seen, name)
        if value is not None:
            words.append(f"{name}={value}")
    words += [f"{name}={_shown(value)}" for name, value in seen.fields.items() if name not in _SHOWN_BEFORE]
    if seen.kind in {"payload", "foreign", "unknown", "malformed"}:
        words.append(f"bytes={seen.bytes}")
    if seen.kind == "foreign":
        words.insert(0, seen.topic)
    if seen.problem:
        words.append(f"({seen.problem})")
    return clean(" ".join(word for word in words if word))


def _when(log_time_ns: int | None) -> str:
    if log_time_ns is None:
        return ""
    seconds, rest = divmod(log_time_ns, _NS)
    if not 0 <= seconds <= _LATEST_S:
        return str(log_time_ns)
    return f"{datetime.fromtimestamp(seconds).astimezone():%H:%M:%S}.{rest:09d}"


def _shown(value: Any) -> str:
    if value is None:
        return "null"
    return str(value) if isinstance(value, int | float) else json.dumps(value, ensure_ascii=True)


def clean(text: str) -> str:
    """Without what a terminal would obey.

    >>> clean("a" + chr(27) + "b")
    'a\\\\x1bb'
    """
    return re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]", lambda found: f"\\x{ord(found[0]):02x}", text)
