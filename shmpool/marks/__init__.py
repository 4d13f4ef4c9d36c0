# SPDX-License-Identifier: Apache-2.0
"""Files beside a stream's regions that say what became of its epoch."""
