# SPDX-License-Identifier: Apache-2.0
"""A join.toml: its sections, the rules between its keys, and what it means for the join."""
