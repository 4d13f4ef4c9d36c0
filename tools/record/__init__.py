# SPDX-License-Identifier: Apache-2.0
"""``framegate record``: records streams in an MCAP file."""
