# SPDX-License-Identifier: Apache-2.0
"""The journal as its readers see it: segments of Arrow batches, named readers, doorbells.

Importing this package imports no Arrow: ``framegate.journal(path)`` does that when it is called.
"""
