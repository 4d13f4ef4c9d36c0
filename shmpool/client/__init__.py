# SPDX-License-Identifier: Apache-2.0
"""The client of the pool: a program's Aeron client, its leases, and the thread that keeps them."""
