# SPDX-License-Identifier: Apache-2.0
"""Prints what the development environment installs: build requirements, dependencies, test and lint groups.

With names of groups as arguments, those groups alone. Read from pyproject.toml, so that there is one list; printed one
a line, without spaces, for the shell.
"""

import sys
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
groups = sys.argv[1:] or ["test", "check"]
wanted = [] if sys.argv[1:] else [*project["build-system"]["requires"], *project["project"]["dependencies"]]
wanted += [requirement for group in groups for requirement in project["dependency-groups"][group]]
print("\n".join(requirement.replace(" ", "") for requirement in wanted))
