# SPDX-License-Identifier: Apache-2.0
"""A journal as a table with positions, local or on another host. Flight and Spark both build on it."""
