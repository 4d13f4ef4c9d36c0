# SPDX-License-Identifier: Apache-2.0
"""For those who work on framegate: benches, code generation, set-up. No part of what is installed."""
