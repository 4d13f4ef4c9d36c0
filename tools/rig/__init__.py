# SPDX-License-Identifier: Apache-2.0
"""A rig: driver, sources, joins, recorders, servers and queries that run together, written down in one file."""
