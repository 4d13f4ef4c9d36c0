# SPDX-License-Identifier: Apache-2.0
"""From a stored checkpoint to the state that an operator resumes from."""
