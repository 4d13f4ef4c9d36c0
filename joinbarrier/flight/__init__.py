# SPDX-License-Identifier: Apache-2.0
"""Journals for other hosts: an Arrow Flight server over them, and its client.

Importing this package imports no Arrow.
"""
