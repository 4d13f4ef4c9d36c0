# SPDX-License-Identifier: Apache-2.0
"""``framegate replay``: what a recording holds, published again as live producers do."""
