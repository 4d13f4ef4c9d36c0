# SPDX-License-Identifier: Apache-2.0
"""Words on a picture: capitals, digits and a few signs, three dots wide and five high."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

HEIGHT: Final = 5
_WIDTH: Final = 3
# Five rows a sign, from the top; the bits of each digit are three dots from left to right.
_SIGNS: Final = {
    "0": "75557",
    "1": "26227",
    "2": "71747",
    "3": "71717",
    "4": "55711",
    "5": "74717",
    "6": "74757",
    "7": "71122",
    "8": "75757",
    "9": "75717",
    "A": "25755",
    "B": "65656",
    "C": "34443",
    "D": "65556",
    "E": "74647",
    "F": "74644",
    "G": "34553",
    "H": "55755",
    "I": "72227",
    "J": "11152",
    "K": "55655",
    "L": "44447",
    "M": "57755",
    "N": "65555",
    "O": "75557",
    "P": "65644",
    "Q": "25563",
    "R": "65655",
    "S": "34216",
    "T": "72222",
    "U": "55557",
    "V": "55552",
    "W": "55775",
    "X": "55255",
    "Y": "55222",
    "Z": "71247",
    "-": "00700",
    ".": "00002",
    ":": "02020",
    "+": "02720",
    ",": "00024",
    " ": "00000",
}


def lettered(words: str) -> npt.NDArray[np.bool_]:
    """Where the dots of a line are; a sign that is not known is left blank.

    >>> print("\\n".join("".join(".#"[dot] for dot in row) for row in lettered("L7").astype(int)))
    #...###
    #.....#
    #.....#
    #....#.
    ###..#.
    """
    dots = np.zeros((HEIGHT, max(len(words) * (_WIDTH + 1) - 1, 0)), np.bool_)
    for place, sign in enumerate(words.upper()):
        for row, bits in enumerate(_SIGNS.get(sign, _SIGNS[" "])):
            for column in range(_WIDTH):
                dots[row, place * (_WIDTH + 1) + column] = int(bits) >> (_WIDTH - 1 - column) & 1
    return dots
