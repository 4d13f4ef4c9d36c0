# SPDX-License-Identifier: Apache-2.0
"""A consumer of a stream: it follows the stream's regions and reads their frames."""
