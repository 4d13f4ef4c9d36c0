# SPDX-License-Identifier: Apache-2.0
"""The message transport: its interface, Aeron, and a twin of Aeron within one process."""
