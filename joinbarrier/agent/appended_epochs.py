# SPDX-License-Identifier: Apache-2.0
"""The stream epochs of a recording that is appended to another: each stream begins above the epochs in the journal.

Recordings know nothing of each other. Topics of other programs have epoch 1 in every recording, and an older recording
has lower epochs than a newer one. With their own epochs, its frames would be taken for those that the journal already
has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(slots=True)
class AppendedEpochs:
    """The epochs of one recording, as its rows carry them.

    >>> epochs = AppendedEpochs({7: 5})
    >>> epochs.of(7, 1), epochs.of(7, 2), epochs.of(8, 1), AppendedEpochs({7: 5}).of(7, 9)
    (6, 7, 1, 9)
    """

    above: Mapping[int, int]
    """For each stream, the highest epoch in the rows of earlier recordings."""
    _first: dict[int, int] = field(default_factory=dict)

    def of(self, stream: int, epoch: int) -> int:
        """The epoch that a frame of this stream and epoch gets in its row."""
        above = self.above.get(stream)
        if above is None:
            return epoch
        first = self._first.setdefault(stream, epoch)
        if first > above:
            return epoch
        # An epoch lower than the first one is over, as it would be without an earlier recording.
        return above + 1 + epoch - first if epoch >= first else 0
