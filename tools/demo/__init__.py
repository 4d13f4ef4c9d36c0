# SPDX-License-Identifier: Apache-2.0
"""``framegate demo``: cameras, a join and a query over it, as real processes, and whether what came out is right."""
