# SPDX-License-Identifier: Apache-2.0
"""What a query's tasks do: read a range of rows, and make numpy arrays of payloads."""
