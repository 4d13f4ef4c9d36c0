# SPDX-License-Identifier: Apache-2.0
"""Recordings as files: what `framegate record` writes and any MCAP tool reads, read record by record.

>>> from framegate.recording.reader import Recording
>>> Recording.__name__
'Recording'
"""
