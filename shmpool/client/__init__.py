# SPDX-License-Identifier: Apache-2.0
"""A program's way into the pool: its Aeron client, its leases, and the thread that keeps them."""
