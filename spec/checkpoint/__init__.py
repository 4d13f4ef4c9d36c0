# SPDX-License-Identifier: Apache-2.0
"""The parts of a checkpoint in plain Python: the specification of the native ones.

Read in this order: ``command_word``, ``injector``, ``channel``, ``history``, ``buffers``, ``watermarks``, ``aligner``,
``late_inputs``, ``unaligned``, ``signals``, ``inflight``.
"""
