# SPDX-License-Identifier: Apache-2.0
"""Recordings as files: `framegate record` writes them, any MCAP tool reads them. They are read record by record.

>>> from framegate.recording.reader import Recording
>>> Recording.__name__
'Recording'
"""
