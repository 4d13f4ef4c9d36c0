# SPDX-License-Identifier: Apache-2.0
"""An operator in a pipeline: its part of a checkpoint, and the state that it writes."""
