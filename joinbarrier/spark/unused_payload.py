# SPDX-License-Identifier: Apache-2.0
"""A warning for queries that carry payloads which none of their columns needs: a source in Python is not told which."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WARNING: Final = (
    "A query carried the payloads of %s from Python to Spark and used none: "
    'read with .option("payload", "none"), and it takes a small part of the time.'
)
_watched: Final = set[str]()
"""The applications whose queries are looked at: one that is registered twice is watched once."""
_log = logging.getLogger(__name__)


def watch(spark: SparkSession) -> None:
    """Look at the plan of each query of this session, after it is done, until one line has been logged."""
    from pyspark import java_gateway

    application = str(spark.sparkContext.applicationId)
    if application in _watched:
        return
    _watched.add(application)
    cast(Any, java_gateway).ensure_callback_server_started(spark.sparkContext._gateway)
    manager: Any = spark._jsparkSession.listenerManager()
    manager.register(_Listener())


class _Listener:
    """What Spark calls: a QueryExecutionListener."""

    def __init__(self) -> None:
        self._is_said = False

    def onSuccess(self, name: str, execution: Any, duration_ns: int) -> None:  # noqa: ARG002, N802 - Spark's
        if self._is_said:
            return
        plan = execution.optimizedPlan()
        leaves = plan.collectLeaves()
        text, columns = plan.toString(), json.loads(plan.schema().json())
        for leaf in map(leaves.apply, range(leaves.size())):
            if not leaf.toString().rstrip().endswith("] framegate"):
                continue
            inputs = with_payload(json.loads(leaf.schema().json()))
            if inputs and not needed(inputs, text, columns):
                self._is_said = True
                self.say(inputs)
                return

    def say(self, inputs: Iterable[str]) -> None:
        """Log the line."""
        _log.warning(WARNING, ", ".join(inputs))

    def onFailure(self, name: str, execution: Any, exception: Any) -> None:  # noqa: N802 - Spark's
        """Nothing: a query that failed says more than this."""

    class Java:
        """Says to py4j what this is."""

        implements: Final = ["org.apache.spark.sql.util.QueryExecutionListener"]


def with_payload(schema: Any) -> list[str]:
    """The columns of a schema, as Spark writes it in JSON, that are inputs with their payloads.

    >>> with_payload({"fields": [{"name": "left", "type": {"type": "struct", "fields": [{"name": "payload"}]}}]})
    ['left']
    """
    structs = {each["name"]: each["type"]["fields"] for each in schema["fields"] if _is_struct(each["type"])}
    return [name for name, fields in structs.items() if any(field["name"] == "payload" for field in fields)]


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, dict) and kind["type"] == "struct"


def needed(inputs: Iterable[str], plan: str, columns: Any) -> bool:
    """Whether a plan, as Spark prints it, uses one of these columns as a whole or its payload.

    >>> needed(["left"], "Project [left#7.seq AS seq#9]\\n+- RelationV2[row#1L, left#7] framegate", {"fields": []})
    False
    """
    if set(inputs) & set(with_payload(columns)):
        return True
    users = "\n".join(line for line in plan.splitlines() if not line.rstrip().endswith("] framegate"))
    uses = re.compile(rf"\b(?:{'|'.join(map(re.escape, inputs))})#\d+(?:\.(\w+))?")
    return any(field in (None, "payload") for field in (found[1] for found in uses.finditer(users)))
