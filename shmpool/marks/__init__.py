# SPDX-License-Identifier: Apache-2.0
"""Marks: files beside a stream's regions that say how their epoch began or ended."""
