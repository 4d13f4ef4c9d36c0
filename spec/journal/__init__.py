# SPDX-License-Identifier: Apache-2.0
"""The specification of a journal: its checksum, its segments and its writer."""
