# SPDX-License-Identifier: Apache-2.0
"""The books of a join, kept by code that shares nothing with the agent: what became of every published frame."""
