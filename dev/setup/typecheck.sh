#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# mypy wants a package to lie under its import name; here `framegate.schema` lies in `schema/`. A tree of links
# under build/ shows it the names that users import.
set -euo pipefail
cd "$(dirname "$0")/../.."
tree=build/types
rm -rf "$tree"
mkdir -p "$tree/framegate"
for file in framegate/*.py framegate/*.pyi framegate/py.typed; do ln -s "../../../$file" "$tree/framegate/"; done
for package in schema shmpool recording spec joinbarrier driver gate tools; do ln -s "../../../$package" "$tree/framegate/$package"; done
ln -s ../../tests "$tree/tests"
ln -s ../../dev "$tree/dev"
ln -s ../../pyspark_framegate.py "$tree/"
# Each line: the types, then the native stub against the binary.
export MYPYPATH="$tree"
"$PWD/.venv/bin/mypy" --config-file pyproject.toml --cache-dir .mypy_cache -p framegate -p tests -p dev -m pyspark_framegate "$@"
"$PWD/.venv/bin/python" -m mypy.stubtest framegate._native --mypy-config-file pyproject.toml
