# SPDX-License-Identifier: Apache-2.0
"""From a stored checkpoint to what an operator goes on with."""
