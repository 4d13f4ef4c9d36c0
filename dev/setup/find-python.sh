#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prints the first Python 3.11 or newer: $PYTHON when set, else what PATH has.
set -euo pipefail
for candidate in ${PYTHON:-} python3 python3.13 python3.12 python3.11 python3.14; do
    if "$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        command -v "$candidate"
        exit 0
    fi
done
echo "framegate needs Python 3.11 or newer with venv. On Debian or Ubuntu: apt install python3 python3-venv. Then run make again, or name one: make setup PYTHON=/path/to/python3.12" >&2
exit 3
