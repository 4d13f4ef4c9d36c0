# SPDX-License-Identifier: Apache-2.0
"""The commands `framegate join`, `journal`, `checkpoint` and `mergemap`."""
