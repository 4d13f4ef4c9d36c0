# SPDX-License-Identifier: Apache-2.0
"""The coordinator of one pipeline: a pure state machine made of parts that each own their state, and its connection to
the store.

Begin with ``coordinator``, which passes each event to the part it is for. The rest can be read in any order.
"""
