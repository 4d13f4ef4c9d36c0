# SPDX-License-Identifier: Apache-2.0
"""``framegate record``: what streams carry, as an MCAP file."""
