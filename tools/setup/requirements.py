# SPDX-License-Identifier: Apache-2.0
"""Prints what the development environment installs: build requirements, dependencies, test and lint groups.

Read from pyproject.toml, so that there is one list. Printed one a line, without spaces, for the shell.
"""

import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
wanted = [
    *project["build-system"]["requires"],
    *project["project"]["dependencies"],
    *(requirement for group in project["dependency-groups"].values() for requirement in group),
]
print("\n".join(requirement.replace(" ", "") for requirement in wanted))
