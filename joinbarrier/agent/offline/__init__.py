# SPDX-License-Identifier: Apache-2.0
"""The join of recordings: the same engine, fed by a file."""
