# SPDX-License-Identifier: Apache-2.0
"""Point clouds as arrays: a row for each point, a column for each number of a point.

ROS and Foxglove both describe packed records of a fixed size, and the place of each field in them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from framegate.recording.message_fields import Unreadable

ROS_TYPES: Final = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 8: "f8"}
"""``sensor_msgs/PointField``."""
FOXGLOVE_TYPES: Final = {1: "u1", 2: "i1", 3: "u2", 4: "i2", 5: "u4", 6: "i4", 7: "f4", 8: "f8"}
"""``foxglove.PackedElementField``."""
_COLUMNS_MAX: Final = 4096


@dataclass(frozen=True, slots=True)
class PointField:
    """Some numbers of a point that are stored one after the other."""

    name: str
    offset: int
    dtype: str
    count: int = 1


@dataclass(frozen=True, slots=True)
class PointCloud:
    """The properties of a point cloud that all schemas have."""

    fields: Sequence[PointField]
    height: int
    width: int
    point_step: int
    row_step: int
    data: bytes | memoryview
    is_bigendian: bool = False

    @property
    def columns(self) -> list[str]:
        """The names of the columns. A field of several numbers has as many columns."""
        return [each.name if each.count == 1 else f"{each.name}[0:{each.count}]" for each in self.fields]

    def array(self) -> npt.NDArray[Any]:
        """All points, in the type that holds the numbers of all fields. Raises ``Unreadable``."""
        columns = sum(each.count for each in self.fields)
        ends = [each.offset + each.count * np.dtype(each.dtype).itemsize for each in self.fields]
        is_sane = 0 < columns <= _COLUMNS_MAX and all(each.count > 0 and each.offset >= 0 for each in self.fields)
        if not is_sane or max(ends) > self.point_step:
            raise Unreadable("its fields do not fit its points")
        row_bytes = self.width * self.point_step
        is_sane = self.height >= 0 and self.width >= 0 and self.row_step >= row_bytes
        if not is_sane or len(self.data) < self.row_step * (self.height - 1) + row_bytes:
            raise Unreadable("it has fewer bytes than points")
        dtype = np.result_type(*(each.dtype for each in self.fields))
        found = np.empty((self.height * self.width, columns), dtype)
        at = 0
        # If there are no bytes, not even an empty view could begin after the first one.
        for each in self.fields if len(found) else ():
            stored = np.dtype(each.dtype).newbyteorder(">" if self.is_bigendian else "<")
            shape = (self.height, self.width, each.count)
            strides = (self.row_step, self.point_step, stored.itemsize)
            values = np.ndarray(shape, stored, self.data, each.offset, strides)
            found[:, at : at + each.count] = values.reshape(-1, each.count)
            at += each.count
        return found
