# SPDX-License-Identifier: Apache-2.0
"""``framegate replay``: publishes the content of a recording again, as live producers do."""
