# SPDX-License-Identifier: Apache-2.0
"""The join agent: its duty cycle, its inputs, what it publishes, and what it reports about itself."""
