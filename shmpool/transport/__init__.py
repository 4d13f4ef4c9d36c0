# SPDX-License-Identifier: Apache-2.0
"""The message transport: what is needed of one, Aeron, and a twin of it within a process."""
