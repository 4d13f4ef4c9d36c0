# SPDX-License-Identifier: Apache-2.0
"""``framegate demo``: a program over the public interface, to copy from, that checks what it gets."""
