# SPDX-License-Identifier: Apache-2.0
"""The producer of a stream: it publishes frames, descriptors and barriers, and keeps track of its consumers."""
