# SPDX-License-Identifier: Apache-2.0
"""The PySpark data source ``framegate``: journals as streams and as tables, by value or by reference.

Users import ``framegate.spark``. Importing this package imports neither PySpark nor Arrow.
"""
