# SPDX-License-Identifier: Apache-2.0
"""Measurements: each file answers one question, in ratios within one run, as a median of several rounds."""
