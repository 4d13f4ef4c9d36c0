# SPDX-License-Identifier: Apache-2.0
"""The layout of shared memory: superblocks, slots, commit words and tensors (PROTOCOL 3)."""
