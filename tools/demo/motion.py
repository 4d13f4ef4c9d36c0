# SPDX-License-Identifier: Apache-2.0
"""Where a picture has gone to: recovered from the picture alone, row sums and column sums at a time.

A picture that moves and comes in again on the other side has the same sums of rows and of columns, moved on. Two
circular correlations of a few hundred numbers find by how much; the whole picture's would take far longer.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


class MotionFinder:
    """Finds how far a picture has gone from a reference.

    >>> reference = np.random.default_rng(1).integers(0, 255, (30, 40), np.uint8)
    >>> MotionFinder(reference).moved(np.roll(reference, (3, 39), (0, 1)))
    (3, 39)
    """

    def __init__(self, reference: npt.NDArray[Any]) -> None:
        self._spectra = [np.conj(_spectrum(sums)) for sums in _sums(reference)]

    def moved(self, picture: npt.NDArray[Any]) -> tuple[int, int]:
        """Rows down and columns to the right, each from 0 to below the side."""
        down, across = (
            int(np.fft.irfft(_spectrum(sums) * spectrum, sums.size).argmax())
            for sums, spectrum in zip(_sums(picture), self._spectra, strict=True)
        )
        return down, across


def _sums(picture: npt.NDArray[Any]) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Of each row, and of each column."""
    # As products with ones: much faster than sums that widen byte by byte.
    whole = picture.astype(np.float32)
    return whole @ np.ones(whole.shape[1], np.float32), np.ones(whole.shape[0], np.float32) @ whole


def _spectrum(sums: npt.NDArray[np.float32]) -> npt.NDArray[np.complex128]:
    """Of the steps from one sum to the next: brightness and slow shades say little about the place."""
    return np.fft.rfft(sums - np.roll(sums, 1))
