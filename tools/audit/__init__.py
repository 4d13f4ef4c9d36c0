# SPDX-License-Identifier: Apache-2.0
"""The audit: the books of a join, which say what became of every published frame. It shares no code with the agent."""
