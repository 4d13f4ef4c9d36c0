# SPDX-License-Identifier: Apache-2.0
"""Everything in one program: a driver in the background, and joins on threads of this process."""
