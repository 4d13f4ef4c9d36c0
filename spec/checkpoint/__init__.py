# SPDX-License-Identifier: Apache-2.0
"""The pieces of a checkpoint in plain Python: the specification that the native ones are held to.

Read in this order: ``command_word``, ``injector``, ``channel``, ``history``, ``buffers``, ``watermarks``, ``aligner``,
``late_inputs``, ``unaligned``, ``signals``, ``inflight``.
"""
