# SPDX-License-Identifier: Apache-2.0
"""How commands speak: errors, logs, tables, and the options that many of them share."""
