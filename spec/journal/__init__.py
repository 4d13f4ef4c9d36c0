# SPDX-License-Identifier: Apache-2.0
"""The specification of a journal: its check sum, its segments and its writer."""
