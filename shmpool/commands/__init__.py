# SPDX-License-Identifier: Apache-2.0
"""The commands `framegate produce` and `framegate consume`, and the payloads that they write and check."""
