# SPDX-License-Identifier: Apache-2.0
"""Configuration: TOML, environment and command line into checked models, with every mistake at its place."""
