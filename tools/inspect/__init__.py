# SPDX-License-Identifier: Apache-2.0
"""``framegate inspect``: what a recording, a message, a region or a living stream holds, one line for each message."""
