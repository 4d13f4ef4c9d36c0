# SPDX-License-Identifier: Apache-2.0
"""The gate: everything in one program, with a driver in the background and joins on threads of this process."""
