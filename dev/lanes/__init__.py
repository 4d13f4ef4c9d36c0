# SPDX-License-Identifier: Apache-2.0
"""The same tests with other versions of what framegate stands on."""
