# SPDX-License-Identifier: Apache-2.0
"""The source of barriers in a producer, and the handle by which a coordinator triggers it."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from framegate.joinbarrier.checkpoint.aligner import checked_now
from framegate.joinbarrier.checkpoint.messages import CheckpointBarrier, check_barrier
from framegate.joinbarrier.checkpoint.numbers import nanoseconds
from framegate.joinbarrier.checkpoint.settings import Implementation, is_native
from framegate.schema.errors import AtomicsMissing, InvalidValue
from framegate.shmpool.clock import monotonic_ns

import framegate._native as _native


class _Injects(Protocol):
    @property
    def counted(self) -> dict[str, int]: ...

    def poll(self, now_ns: int | None = None) -> CheckpointBarrier | None: ...


class _Triggers(Protocol):
    def inject(self, checkpoint_id: int, epoch: int, *, unaligned: bool = False) -> None: ...


class BarrierInjectorHandle:
    """Triggers an injector from another thread, or from another process through the file of its command word."""

    def __init__(self, triggers: _Triggers) -> None:
        self._triggers = triggers

    @classmethod
    def open(cls, word: Path | str) -> BarrierInjectorHandle:
        """Open the injector that was made with this ``word``. Raises CommandWordRefused."""
        require_atomics()
        return cls(_NativeHandle(_native.CommandWord.open(str(word))))

    def inject(self, checkpoint_id: int, epoch: int, unaligned: bool = False) -> None:
        """Ask for a barrier. A request that was not taken yet is replaced.

        Raises InvalidValue for id 0 and for an epoch above 2^48 - 1.
        """
        checkpoint_id, epoch = check_barrier(checkpoint_id, epoch)
        self._triggers.inject(checkpoint_id, epoch, unaligned=bool(unaligned))


class CheckpointBarrierInjector:
    """Says when a source sends a barrier. The source polls it between two frames.

    >>> injector = CheckpointBarrierInjector("camera", impl="reference")
    >>> injector.handle().inject(5, 1)
    >>> injector.poll(now_ns=0), injector.poll(now_ns=1)
    (CheckpointBarrier(checkpoint_id=5, epoch=1, unaligned=False), None)
    """

    def __init__(
        self,
        source_id: str,
        periodic_interval_s: float | None = None,
        word: Path | str | None = None,
        impl: Implementation = "native",
    ) -> None:
        """Make an injector. ``word``: a file in shared memory, made if it is missing, by which other processes can
        trigger it.
        """
        self.source_id = source_id
        interval_ns = None if periodic_interval_s is None else nanoseconds("periodic_interval_s", periodic_interval_s)
        self._injects: _Injects
        self._triggers: _Triggers
        if is_native(impl):
            require_atomics()
            native = _native.CommandWord.anonymous() if word is None else _native.CommandWord.create(str(word))
            self._injects = _NativeInjector(interval_ns, native)
            self._triggers = _NativeHandle(native)
        else:
            if word is not None:
                raise InvalidValue("the reference has no shared mapping", field="word", found=word)
            from framegate.spec.checkpoint.injector import Injector

            self._injects = self._triggers = Injector(interval_ns, monotonic_ns)

    def poll(self, now_ns: int | None = None) -> CheckpointBarrier | None:
        """The barrier to send before the next frame, if any. Without a time, the clock is read at every 64th poll."""
        return self._injects.poll(None if now_ns is None else checked_now(now_ns))

    def handle(self) -> BarrierInjectorHandle:
        """Make a handle for the coordinator. There may be any number of them, on any thread."""
        return BarrierInjectorHandle(self._triggers)

    @property
    def barriers_injected(self) -> int:
        """How many barriers ``poll`` has returned."""
        return self._injects.counted["barriers_injected"]

    def metrics(self) -> dict[str, int]:
        """Count barriers injected, requests ignored as duplicates, and epochs that had to be raised."""
        return dict(self._injects.counted)


class _NativeInjector:
    """Gives the native injector the interface of the reference."""

    def __init__(self, interval_ns: int | None, word: _native.CommandWord) -> None:
        self._native = _native.BarrierInjector(word, interval_ns)

    def poll(self, now_ns: int | None = None) -> CheckpointBarrier | None:
        found = self._native.poll(now_ns)
        return None if found is None else CheckpointBarrier(*found)

    @property
    def counted(self) -> dict[str, int]:
        return self._native.counted()


class _NativeHandle:
    """Gives the native command word the interface of the reference."""

    def __init__(self, word: _native.CommandWord) -> None:
        self._word = word

    def inject(self, checkpoint_id: int, epoch: int, *, unaligned: bool = False) -> None:
        self._word.inject(checkpoint_id, epoch, unaligned)


def require_atomics(*, is_lock_free: bool | None = None) -> None:
    """Raise AtomicsMissing if 128-bit atomic operations need a lock here: no other process would see it."""
    found = _native.CommandWord.is_lock_free() if is_lock_free is None else is_lock_free
    if not found:
        raise AtomicsMissing("128-bit atomic operations are not lock-free here")
