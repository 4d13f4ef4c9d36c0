# SPDX-License-Identifier: Apache-2.0
"""The three barriers that say whether an output can be made now."""
