# SPDX-License-Identifier: Apache-2.0
"""A producer of a stream: frames in, descriptors out, barriers between them, and who listens."""
