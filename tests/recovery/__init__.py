# SPDX-License-Identifier: Apache-2.0
"""A replay, a join, their coordinator and a query, killed again and again, each restored from the newest checkpoint."""
