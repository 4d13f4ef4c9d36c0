# SPDX-License-Identifier: Apache-2.0
"""The coordinator of one pipeline: a pure state machine of parts that each own their state, and its edge to the store.

``coordinator`` is where events come in, and says which part each of them is for. The rest can be read in any order.
"""
