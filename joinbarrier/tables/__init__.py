# SPDX-License-Identifier: Apache-2.0
"""A journal, near or far, as a table with positions: what Flight and Spark both stand on."""
