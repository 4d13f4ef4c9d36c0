# SPDX-License-Identifier: Apache-2.0
"""The epochs of a recording whose rows follow those of another: each stream begins above what the journal has of it.

Recordings know nothing of each other. Topics of other programs have epoch 1 in each, and an older recording has lower
epochs than a newer one; frames would be taken for those that are there already.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(slots=True)
class AppendedEpochs:
    """Epochs of one recording as its rows have them.

    >>> epochs = AppendedEpochs({7: 5})
    >>> epochs.of(7, 1), epochs.of(7, 2), epochs.of(8, 1), AppendedEpochs({7: 5}).of(7, 9)
    (6, 7, 1, 9)
    """

    above: Mapping[int, int]
    """By stream the highest epoch that rows before it have."""
    _first: dict[int, int] = field(default_factory=dict)

    def of(self, stream: int, epoch: int) -> int:
        """The epoch of a frame in its row."""
        above = self.above.get(stream)
        if above is None:
            return epoch
        first = self._first.setdefault(stream, epoch)
        if first > above:
            return epoch
        # One that goes back behind the first is over, as it would be without a recording before it.
        return above + 1 + epoch - first if epoch >= first else 0
