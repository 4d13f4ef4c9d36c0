# SPDX-License-Identifier: Apache-2.0
"""Real processes at maximum rate, one of them killed every few seconds."""
