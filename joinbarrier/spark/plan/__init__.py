# SPDX-License-Identifier: Apache-2.0
"""What the driver of a query decides: where it begins and ends, and which task reads which rows."""
