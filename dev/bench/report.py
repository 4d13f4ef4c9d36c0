# SPDX-License-Identifier: Apache-2.0
"""The report of a run: ``report.json`` for the next comparison, and ``report.html``, a page with plots that needs
nothing from outside.
"""

from __future__ import annotations

import html
import importlib
import io
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from framegate.schema.errors import FileMissing, InvalidValue

from dev.bench.result import Result, machine

JSON_NAME: Final = "report.json"
PAGE_NAME: Final = "report.html"
_VERSION: Final = 1
_STYLE: Final = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; color: #222 }
table { border-collapse: collapse; width: 100% } th, td { text-align: left; padding: .3rem .6rem; vertical-align: top }
tr { border-bottom: 1px solid #ddd } td.figure { text-align: right; white-space: nowrap }
.met { color: #17692b } .missed { color: #b3261e; font-weight: 600 }
figure { display: inline-block; margin: 1rem 1rem 0 0; width: 34rem } svg { width: 100%; height: auto }
figcaption { font-weight: 600 }
"""
_COLUMNS: Final = ("question", "asked", "measured", "rounds", "verdict", "how")


def write(folder: Path, results: Sequence[Result]) -> None:
    """Write both files into a folder, which is made if it is not there."""
    folder.mkdir(parents=True, exist_ok=True)
    about = machine()
    told = {"version": _VERSION, "machine": about, "results": [asdict(each) for each in results]}
    (folder / JSON_NAME).write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    (folder / PAGE_NAME).write_text(page(results, about), encoding="utf-8")


def read(path: Path) -> list[Result]:
    """The results of an earlier report."""
    try:
        told = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise FileMissing("there is no such report", path=path) from None
    if not isinstance(told, dict) or told.get("version") != _VERSION:
        raise InvalidValue("this is no report that can be compared", path=path, version=_VERSION)
    return [_result(each) for each in told["results"]]


def _result(told: dict[str, Any]) -> Result:
    spread = told["spread"]
    pairs = {name: tuple(tuple(pair) for pair in told[name]) for name in ("beside", "series")}
    return Result(**{**told, **pairs, "spread": None if spread is None else tuple(spread)})


def page(results: Sequence[Result], about: dict[str, Any]) -> str:
    """The whole page."""
    words = ", ".join(f"{name} {value}" for name, value in about.items())
    met = sum(each.is_met is True for each in results)
    asked = sum(each.is_met is not None for each in results)
    drawn = "".join(_figure(title, svg) for title, svg in _plots(results))
    rows = "".join(_row(each) for each in results)
    head = "".join(f"<th>{name}</th>" for name in _COLUMNS)
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>framegate: measured</title>'
        f"<style>{_STYLE}</style>"
        f"<h1>framegate: measured</h1><p>{html.escape(words)}</p><p>{met} of {asked} targets are met.</p>"
        f"{drawn}<h2>All figures</h2><table><tr>{head}</tr>{rows}</table></html>\n"
    )


def _figure(title: str, svg: str) -> str:
    return f"<figure><figcaption>{html.escape(title)}</figcaption>{svg}</figure>"


def _row(result: Result) -> str:
    cells = result.row()
    kinds = ("", "figure", "figure", "figure", cells[4], "")
    drawn = (f'<td class="{kind}">{html.escape(cell)}</td>' for kind, cell in zip(kinds, cells, strict=True))
    return f"<tr>{''.join(drawn)}</tr>"


# --- Plots ---


def _plots(results: Sequence[Result]) -> Iterable[tuple[str, str]]:
    bounded = [each for each in results if each.measured is not None and each.target]
    if bounded:
        yield "How far each figure is from its target", _distances(bounded)
    for each in results:
        if each.beside:
            yield each.question, _beside(each)
        if each.series:
            exponent = exponent_of(each.series)
            yield f"{each.question}: grows with the power {exponent:.2f}", _growth(each, exponent)


def exponent_of(series: Sequence[tuple[float, float]]) -> float:
    """The power by which the cost grows with the size, fitted to all points.

    >>> round(exponent_of([(1, 3.0), (2, 12.0), (4, 48.0)]), 6)
    2.0
    """
    points = [(math.log(size), math.log(cost)) for size, cost in series if size > 0 and cost > 0]
    middle_x, middle_y = (sum(column) / len(points) for column in zip(*points, strict=True))
    across = sum((x - middle_x) ** 2 for x, _ in points)
    return float(sum((x - middle_x) * (y - middle_y) for x, y in points) / across)


def _distances(bounded: Sequence[Result]) -> str:
    """How many times worse than its target each is; to the left of the line is better."""
    worse = [_times_worse(each) for each in bounded]
    figure, axes = _axes(len(bounded))
    axes.barh(range(len(bounded)), [each - 1 for each in worse], left=1, color=[_colour(each) for each in bounded])
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xscale("log")
    _name(axes, [each.question for each in bounded])
    axes.set_xlabel("times the target; left is better")
    return _svg(figure)


def _times_worse(result: Result) -> float:
    assert result.measured is not None  # noqa: S101  (for the type checker)
    assert result.target is not None  # noqa: S101  (for the type checker)
    ratio = max(result.measured, 1e-9) / result.target
    return min(max(1 / ratio if result.is_floor else ratio, 0.01), 100)


def _beside(result: Result) -> str:
    names, figures = zip(*result.beside, strict=True)
    figure, axes = _axes(len(names))
    axes.barh(range(len(names)), figures, color=["tab:blue" if "framegate" in name else "tab:gray" for name in names])
    _name(axes, names)
    axes.set_xlabel(result.beside_unit)
    return _svg(figure)


def _growth(result: Result, exponent: float) -> str:
    sizes, costs = zip(*result.series, strict=True)
    figure, axes = _axes(6)
    axes.loglog(sizes, costs, "o-", color="tab:blue")
    middle, cost = (math.exp(sum(map(math.log, column)) / len(column)) for column in (sizes, costs))
    fitted = [cost * (size / middle) ** exponent for size in sizes]
    axes.loglog(sizes, fitted, "--", color="tab:gray", linewidth=0.9)
    axes.set_xlabel(result.axis)
    axes.set_ylabel(result.series_unit)
    return _svg(figure)


def _axes(rows: int) -> tuple[Any, Any]:
    # Installed with the peers of the benches only.
    drawing = importlib.import_module("matplotlib.figure")
    figure = drawing.Figure(figsize=(7, max(2.0, 0.6 + 0.28 * rows)), layout="constrained")
    return figure, figure.subplots()


def _name(axes: Any, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), [name if len(name) <= 60 else f"{name[:57]}..." for name in names], fontsize=8)
    axes.invert_yaxis()


def _colour(result: Result) -> str:
    return "tab:green" if result.is_met else "tab:red"


def _svg(figure: Any) -> str:
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None})
    # The page is one document, so the picture stands in it without its own head.
    return out.getvalue()[out.getvalue().index("<svg") :]
