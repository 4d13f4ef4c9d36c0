# SPDX-License-Identifier: Apache-2.0
"""A query's claims of its reader's name, one in each journal, kept alive by a thread however long a batch takes."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from functools import partial
from typing import Final

from framegate.joinbarrier.spark.plan.parallel_questions import ask_in_parallel
from framegate.joinbarrier.tables.source_table import Claim
from framegate.schema.errors import EndpointUnreachable, FramegateError

_log = logging.getLogger(__name__)
RENEWALS_PER_LEASE: Final = 4
_PERIOD_S_MIN: Final = 0.05


class LeaseKeeper:
    """Holds the claims until ``stop`` or the process ends. A name is never given up, since the query may return."""

    def __init__(self, readers: Mapping[str, Claim], lease_s: int) -> None:
        self._readers = dict(readers)
        self._period_s = max(lease_s / RENEWALS_PER_LEASE, _PERIOD_S_MIN)
        # One for each: a server that is away must not keep the others from being asked.
        self._locks = {path: threading.Lock() for path in self._readers}
        self._failure: FramegateError | OSError | None = None
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="framegate-lease", daemon=True)
        self._thread.start()

    def claim_of(self, path: str) -> int:
        """The number of the claim, for who renews it elsewhere."""
        return self._readers[path].number

    def committed_row(self, path: str) -> int:
        """The first row that is not done."""
        return self._readers[path].committed_row

    def commit(self, path: str, row: int) -> None:
        """Rows before this one are done. Raises ReaderFenced."""
        self.check()
        with self._locks[path]:
            self._readers[path].commit(row)

    def check(self) -> None:
        """Raises what the thread has met: ReaderFenced, most of all."""
        if self._failure is not None:
            raise self._failure

    def renew(self) -> None:
        """Say that the query lives. Raises ReaderFenced. A server that is away is told the next time."""
        ask_in_parallel({path: partial(self._renew, path) for path in self._readers})

    def _renew(self, path: str) -> None:
        reader = self._readers[path]
        try:
            with self._locks[path]:
                reader.commit(reader.committed_row)
        except EndpointUnreachable as away:
            _log.warning("%s: the lease was not renewed: %s", path, away.message)

    def stop(self) -> None:
        """End the thread. What the names hold back stays until the lease is over."""
        self._is_over.set()
        self._thread.join()

    def _keep(self) -> None:
        while not self._is_over.wait(self._period_s):
            try:
                self.renew()
            except (FramegateError, OSError) as failure:
                self._failure = failure
                return
