# SPDX-License-Identifier: Apache-2.0
"""What lies where in shared memory: superblocks, slots, commit words and tensors (PROTOCOL 3)."""
