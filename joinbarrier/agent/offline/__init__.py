# SPDX-License-Identifier: Apache-2.0
"""The join of a recording: a file feeds the same engine that joins live streams."""
