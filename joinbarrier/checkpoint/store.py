# SPDX-License-Identifier: Apache-2.0
"""The checkpoint store: all files are written before the manifest, so a checkpoint exists either whole or not at all.

::

    DIR/<checkpoint_id>/manifest.json
    DIR/<checkpoint_id>/operators/<operator_id>/state.bin
    DIR/<checkpoint_id>/operators/<operator_id>/inflight_<input_id>.buf
    DIR/<checkpoint_id>/operators/<operator_id>/operator.json
"""

from __future__ import annotations

import errno
import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from framegate.joinbarrier.checkpoint.inflight import read_records, write_records
from framegate.joinbarrier.checkpoint.manifest import MANIFEST, InflightData, Manifest, OperatorState, decode
from framegate.joinbarrier.checkpoint.messages import check_barrier
from framegate.joinbarrier.checkpoint.operator.part import OPERATOR_ID, OPERATOR_PART, OperatorPart, decode_part
from framegate.joinbarrier.checkpoint.store_files import Content, StoreFiles, measured, store_files
from framegate.joinbarrier.journal.checksum import crc32c
from framegate.schema.errors import (
    CheckpointDamaged,
    CheckpointExists,
    CheckpointMissing,
    CheckpointNewer,
    InvalidValue,
    StoreFailed,
)

_INFLIGHT: Final = re.compile(r"inflight_(0|[1-9][0-9]{0,9})\.buf")
_FOLDER: Final = re.compile(r"[1-9][0-9]{0,19}")
_NO_FILE: Final = (errno.EISDIR, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.EIO)
"""Errors that mean that a file is not there as it should be: something else lies in its place, or its sectors are gone.
An older checkpoint may be whole. Other errors mean that the store cannot be reached or read, and say nothing about its
files.
"""
_LOOKS: Final = 16
"""How often the newest checkpoint is looked for again while others are pruned."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Restored:
    """What an operator is restored from."""

    manifest: Manifest
    state: bytes
    inflight: dict[int, list[bytes]]
    """The in-flight events of each input, in the order in which they came. The barrier follows them."""
    skipped: tuple[int, ...] = ()
    """Inputs whose damaged in-flight events were left out, because the caller asked for that."""


class _Pruned(Exception):
    """Raised if a checkpoint was pruned while it was read. Then newer ones exist than were listed."""


class CheckpointStore:
    """The checkpoints of one pipeline."""

    def __init__(self, place: Path | str, files: StoreFiles | None = None) -> None:
        self.place = str(place)
        self._files = store_files(place) if files is None else files

    # --- Writing ----------------------------------------------------------------------------------------

    def write_state(self, checkpoint_id: int, operator_id: str, state: bytes | Content) -> OperatorState:
        """Store an operator's state; return its entry for the manifest."""
        path = f"{_folder(operator_id)}/state.bin"
        size, crc = self._write(checkpoint_id, path, state)
        return OperatorState(operator_id=operator_id, path=path, bytes=size, crc32c=crc)

    def write_inflight(
        self,
        checkpoint_id: int,
        operator_id: str,
        input_id: int,
        records: Iterable[bytes],
        lost: Sequence[Mapping[str, Any]] = (),
    ) -> InflightData:
        """Store an input's in-flight events; return their entry for the manifest."""
        found = list(records)
        return self.write_inflight_file(
            checkpoint_id, operator_id, input_id, write_records(input_id, found), len(found), lost
        )

    def write_inflight_file(
        self,
        checkpoint_id: int,
        operator_id: str,
        input_id: int,
        data: bytes | Content,
        event_count: int,
        lost: Sequence[Mapping[str, Any]] = (),
    ) -> InflightData:
        """Store an input's in-flight events, given as the whole file; return their entry for the manifest."""
        path = f"{_folder(operator_id)}/inflight_{input_id}.buf"
        size, crc = self._write(checkpoint_id, path, data)
        return InflightData(
            operator_id=operator_id,
            input_id=input_id,
            path=path,
            event_count=event_count,
            bytes=size,
            crc32c=crc,
            lost=tuple(dict(each) for each in lost),
        )

    def write_part(self, checkpoint_id: int, part: OperatorPart) -> None:
        """Store the operator's own part, after its files and before it acknowledges COMPLETE. The coordinator compares
        the files with it.
        """
        check_barrier(checkpoint_id, 0)
        path = f"{checkpoint_id}/{_folder(part.state.operator_id)}/{OPERATOR_PART}"
        with self._failing(path):
            self._files.publish(path, part.encode())

    def commit(self, manifest: Manifest) -> None:
        """Write the manifest, by which the checkpoint exists. Raises CheckpointExists and StoreFailed."""
        path = f"{manifest.checkpoint_id}/{MANIFEST}"
        with self._failing(path):
            if MANIFEST in self._files.names(str(manifest.checkpoint_id)):
                raise CheckpointExists("an id is given out once", checkpoint_id=manifest.checkpoint_id)
            self._files.publish(path, manifest.encode())

    def prune(self, keep: int) -> list[int]:
        """Drop all but the newest ``keep`` checkpoints, and the remains of older attempts; return the ids that are
        gone.
        """
        if keep < 1:
            raise InvalidValue("at least one checkpoint is kept", field="keep", found=keep)
        kept = self.ids()[-keep:]
        gone = [each for each in self._folders() if kept and each < kept[0]]
        # A folder between kept checkpoints is a failed attempt; a newer folder may be an attempt under way.
        gone += [each for each in self._folders() if kept and kept[0] < each < kept[-1] and each not in kept]
        failed = self._drop_all(gone)
        if failed:
            raise failed[0]
        return gone

    def drop_attempts(self, below: int) -> tuple[int, list[StoreFailed]]:
        """Drop the remains of attempts without a manifest; return how many are gone, and why others are not.

        An operator that has not heard of an abort yet may still write into its folder; the next call finds that again.
        """
        whole = set(self.ids())
        gone = [each for each in self._folders() if each < below and each not in whole]
        failed = self._drop_all(gone)
        return len(gone) - len(failed), failed

    def _drop_all(self, ids: Iterable[int]) -> list[StoreFailed]:
        """Drop each of these. One that cannot be dropped must not keep the others, or the disk would fill up."""
        failed = []
        for checkpoint_id in ids:
            try:
                self.drop(checkpoint_id)
            except StoreFailed as failure:
                failed.append(failure)
        return failed

    def drop(self, checkpoint_id: int) -> None:
        """Drop a checkpoint. The manifest goes first, so that there is never one without its files."""
        with self._failing(str(checkpoint_id)):
            if MANIFEST in self._files.names(str(checkpoint_id)):
                self._files.remove(f"{checkpoint_id}/{MANIFEST}")
            self._files.remove_folder(str(checkpoint_id))

    # --- Reading ----------------------------------------------------------------------------------------

    def highest_id(self) -> int:
        """The highest id of all checkpoints and attempts with any remains; 0: none."""
        with self._failing(""):
            return max(self._folders(), default=0)

    def part(self, checkpoint_id: int, operator_id: str) -> OperatorPart:
        """What an operator stored, with every file compared with ``operator.json``. Raises CheckpointDamaged.

        Without ``operator.json`` the files are taken as they are.
        """
        path = f"{checkpoint_id}/{_folder(operator_id)}/{OPERATOR_PART}"
        try:
            data = self._load(path)
        except FileNotFoundError:
            return self._found(checkpoint_id, operator_id)
        part = decode_part(data, operator_id=operator_id, where=f"{self.place}/{path}")
        entries: list[OperatorState | InflightData] = [part.state, *part.inflight]
        for entry in entries:
            self._checked(checkpoint_id, entry)
        return part

    def require_there(self) -> None:
        """Raise CheckpointMissing if the store does not exist, because its path may be mistyped."""
        with self._failing(""):
            if not self._files.is_there():
                raise CheckpointMissing(
                    "there is no such directory",
                    store=self.place,
                    hint="A pipeline's is the `dir` of its `[checkpoint.NAME]` in the driver's configuration.",
                )

    def ids(self) -> list[int]:
        """The ids of all existing checkpoints, oldest first."""
        with self._failing(""):
            return [each for each in self._folders() if MANIFEST in self._files.names(str(each))]

    def manifest(self, checkpoint_id: int) -> Manifest:
        """Read the manifest of a checkpoint. Raises CheckpointMissing, CheckpointDamaged, CheckpointNewer."""
        path = f"{checkpoint_id}/{MANIFEST}"
        try:
            data = self._load(path)
        except FileNotFoundError:
            raise CheckpointMissing("no manifest", checkpoint_id=checkpoint_id, store=self.place) from None
        manifest = decode(data, where=f"{self.place}/{path}")
        if manifest.checkpoint_id != checkpoint_id:
            raise CheckpointDamaged(
                "the manifest is another one's", checkpoint_id=checkpoint_id, found_id=manifest.checkpoint_id
            )
        return manifest

    def problems(self, checkpoint_id: int) -> Iterator[CheckpointDamaged | CheckpointNewer]:
        """Find everything that is wrong with a checkpoint; nothing if it is whole.

        Raises CheckpointMissing, also when the checkpoint is pruned while its files are read.
        """
        try:
            manifest = self.manifest(checkpoint_id)
        except (CheckpointDamaged, CheckpointNewer) as damaged:
            yield damaged
            return
        entries: list[OperatorState | InflightData] = [*manifest.operators, *manifest.inflight_data]
        for entry in entries:
            try:
                self._checked(checkpoint_id, entry)
            except CheckpointDamaged as damaged:
                # Pruning removes the manifest first, so files that go together with it are not damaged.
                self.manifest(checkpoint_id)
                yield damaged

    def latest_whole(self) -> Manifest:
        """The newest checkpoint whose files are all undamaged; logs the ones it skips (B17)."""
        for _ in range(_LOOKS):
            try:
                return self._latest_whole()
            except _Pruned:
                continue
        raise StoreFailed(
            f"checkpoints were pruned faster than one could be read, {_LOOKS} times in a row",
            store=self.place,
            hint="Keep more checkpoints (`keep` in `[checkpoint.NAME]`), or take them less often.",
        )

    def _latest_whole(self) -> Manifest:
        for checkpoint_id in reversed(self.ids()):
            try:
                found = next(self.problems(checkpoint_id), None)
                if found is None:
                    return self.manifest(checkpoint_id)
            except CheckpointMissing as gone:
                raise _Pruned from gone
            _log.warning("checkpoint %d is damaged and passed over: %s", checkpoint_id, str(found).splitlines()[0])
        raise CheckpointMissing("there is no whole checkpoint", store=self.place)

    def restore(self, manifest: Manifest, operator_id: str, *, skip_damaged_inflight: bool = False) -> Restored:
        """Read an operator's state and in-flight events. Raises CheckpointMissing, CheckpointDamaged.

        ``skip_damaged_inflight``: leave out damaged in-flight events, with a warning, instead of refusing.
        """
        states = [each for each in manifest.operators if each.operator_id == operator_id]
        if len(states) != 1:
            raise CheckpointMissing(
                "the checkpoint has no such operator", checkpoint_id=manifest.checkpoint_id, operator_id=operator_id
            )
        state = self._checked(manifest.checkpoint_id, states[0])
        inflight: dict[int, list[bytes]] = {}
        skipped: list[int] = []
        for entry in manifest.inflight_data:
            if entry.operator_id != operator_id:
                continue
            try:
                inflight[entry.input_id] = read_records(self._checked(manifest.checkpoint_id, entry))[1]
            except CheckpointDamaged as damaged:
                if not skip_damaged_inflight:
                    raise
                _log.warning("in-flight events of input %d are left out: %s", entry.input_id, damaged.message)
                skipped.append(entry.input_id)
        return Restored(manifest, state, inflight, tuple(skipped))

    # --- Files ------------------------------------------------------------------------------------------

    def _found(self, checkpoint_id: int, operator_id: str) -> OperatorPart:
        folder = _folder(operator_id)
        state = self._read(checkpoint_id, f"{folder}/state.bin")
        inflight = []
        with self._failing(folder):
            names = self._files.names(f"{checkpoint_id}/{folder}")
        for input_id in sorted(int(found[1]) for name in names if (found := _INFLIGHT.fullmatch(name))):
            path = f"{folder}/inflight_{input_id}.buf"
            data = self._read(checkpoint_id, path)
            found_id, records = read_records(data)
            if found_id != input_id:
                raise CheckpointDamaged("a file holds another input's events", path=path, want=input_id, have=found_id)
            inflight.append(
                InflightData(
                    operator_id=operator_id,
                    input_id=input_id,
                    path=path,
                    event_count=len(records),
                    bytes=len(data),
                    crc32c=crc32c(data, 0),
                )
            )
        own = OperatorState(
            operator_id=operator_id, path=f"{folder}/state.bin", bytes=len(state), crc32c=crc32c(state, 0)
        )
        return OperatorPart(state=own, inflight=tuple(inflight), is_unaligned=bool(inflight))

    def _read(self, checkpoint_id: int, path: str) -> bytes:
        try:
            return self._load(f"{checkpoint_id}/{path}")
        except FileNotFoundError:
            raise CheckpointDamaged("a file is missing", path=f"{checkpoint_id}/{path}") from None

    def _load(self, path: str) -> bytes:
        """Read a file. Raises FileNotFoundError; CheckpointDamaged if no file can be there; StoreFailed for anything
        else.
        """
        with self._failing(path, may_be_missing=True):
            try:
                return self._files.read(path)
            except OSError as refused:
                if refused.errno not in _NO_FILE:
                    raise
                raise CheckpointDamaged(f"a file cannot be read: {refused.strerror}", path=path) from None

    def _checked(self, checkpoint_id: int, entry: OperatorState | InflightData) -> bytes:
        path = f"{checkpoint_id}/{entry.path}"
        data = self._read(checkpoint_id, entry.path)
        if len(data) != entry.bytes:
            raise CheckpointDamaged("a file has another size", path=path, want=entry.bytes, have=len(data))
        if crc32c(data, 0) != entry.crc32c:
            raise CheckpointDamaged("a file has another check sum", path=path, want=entry.crc32c)
        if isinstance(entry, InflightData):
            found = read_records(data)
            if (found[0], len(found[1])) != (entry.input_id, entry.event_count):
                raise CheckpointDamaged("a file holds other events", path=path, want=entry.event_count)
        return data

    def _write(self, checkpoint_id: int, path: str, content: bytes | Content) -> tuple[int, int]:
        check_barrier(checkpoint_id, 0)
        with self._failing(f"{checkpoint_id}/{path}"):
            self._files.write(f"{checkpoint_id}/{path}", content)
        return measured(content)

    def _folders(self) -> list[int]:
        return sorted(int(name) for name in self._files.names("") if _FOLDER.fullmatch(name))

    @contextmanager
    def _failing(self, path: str, *, may_be_missing: bool = False) -> Iterator[None]:
        try:
            yield
        except OSError as refused:
            if may_be_missing and isinstance(refused, FileNotFoundError):
                raise
            raise StoreFailed(f"{refused.strerror or refused}", store=self.place, path=path) from refused


def _folder(operator_id: str) -> str:
    if not OPERATOR_ID.fullmatch(operator_id):
        raise InvalidValue("1 to 128 letters, digits, _, - and .", field="operator_id", found=operator_id)
    return f"operators/{operator_id}"
