# SPDX-License-Identifier: Apache-2.0
"""Serves journals to other hosts: an Arrow Flight server over journals, and its client.

Importing this package imports no Arrow.
"""
