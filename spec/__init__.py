# SPDX-License-Identifier: Apache-2.0
"""Plain-Python twins of the native parts: each file specifies the native one of its name."""
