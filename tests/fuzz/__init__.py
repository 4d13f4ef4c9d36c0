# SPDX-License-Identifier: Apache-2.0
"""Coverage-guided fuzzing of what reads bytes from other processes."""
