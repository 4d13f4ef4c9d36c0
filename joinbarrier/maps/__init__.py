# SPDX-License-Identifier: Apache-2.0
"""MergeMaps: their rules and messages, the authority that announces them, and the clients that ask for them."""
