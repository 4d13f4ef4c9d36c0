# SPDX-License-Identifier: Apache-2.0
"""The seeded simulator: a world made of real parts over the in-memory network, with faults and checkers."""
