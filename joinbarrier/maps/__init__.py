# SPDX-License-Identifier: Apache-2.0
"""MergeMaps: their rules, their messages, who announces them and who asks for them."""
