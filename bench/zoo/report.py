"""Writes the tables of docs/zoo.md from the rows of a run."""

import math
import pathlib
import re
import statistics
from collections.abc import Sequence

from tables import memory_text, time_text
from zoo.measure import Row

PART = re.compile(r"(<!-- measured -->\n).*?(<!-- end -->)", re.S)
HEADINGS = ("model", "loads", "right", "Scanloom", "peer", "1 thread", "2 threads", "load",
            "memory")
THREADS = ("1", "2")


def cell(text: str) -> str:
    """Text that stays inside its cell."""
    return re.sub(r"\s+", " ", text).replace("|", "\\|").replace("<", "&lt;")


def line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def ratio_text(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.2f}" if value >= 0.1 else f"{value:.1g}"


def time_ratio(row: Row, threads: str) -> float | None:
    """The minimum of Scanloom's times by that of the peer's."""
    measured = row.get("times", {}).get(threads)
    return measured["ours"] / measured["peer"] if measured else None


def first_ratio(row: Row, key: str) -> float | None:
    first = row.get("first", {})
    if "scanloom" not in first or row["peer"] not in first:
        return None
    return first["scanloom"][key] / first[row["peer"]][key]


def ratios(row: Row) -> list[float | None]:
    """On one thread, on two, of loading to the first result, of memory."""
    return [*(time_ratio(row, threads) for threads in THREADS),
            first_ratio(row, "seconds"), first_ratio(row, "bytes")]


def loads(row: Row) -> str:
    """Whether Scanloom runs the model; "neither" if the peer does not, either."""
    if "scanloom" not in row["errors"]:
        return "yes"
    return "neither" if row["peer"] in row["errors"] else "no"


def model_line(row: Row) -> str:
    one = row.get("times", {}).get("1")
    times = [time_text(one[key] * 1e9) if one else "" for key in ("ours", "peer")]
    return line([cell(row["name"]), loads(row), row.get("right", ""), *times,
                 *map(ratio_text, ratios(row))])


def groups(rows: Sequence[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row["group"], []).append(row)
    return found


def in_order(rows: Sequence[Row]) -> list[Row]:
    """The rows in the order of the list, also if they are of several runs; groups together."""
    first: dict[str, int] = {}
    for row in rows:
        first[row["group"]] = min(first.get(row["group"], row["order"]), row["order"])
    return sorted(rows, key=lambda row: (first[row["group"]], row["group"], row["order"],
                                         row["name"]))


def mean_line(name: str, rows: Sequence[Row]) -> str:
    """Counts, and geometric mean and median of each ratio."""
    cells = []
    for column in zip(*map(ratios, rows)):
        values = [value for value in column if value is not None]
        mean = math.exp(statistics.fmean(map(math.log, values))) if values else None
        median = statistics.median(values) if values else None
        cells.append(f"{ratio_text(mean)} ({ratio_text(median)})" if values else "")
    loaded = sum(loads(row) == "yes" for row in rows)
    right = sum(row.get("right") == "yes" for row in rows)
    return line([name, str(len(rows)), str(loaded), str(right), *cells])


def summary(rows: Sequence[Row]) -> list[str]:
    headings = ("from", "models", "load", "right", "1 thread", "2 threads", "load time", "memory")
    lines = [line(headings), line(["---"] * len(headings))]
    lines += [mean_line(cell(name), part) for name, part in groups(rows).items()]
    return [*lines, mean_line("all", rows)]


def remarks(rows: Sequence[Row]) -> list[str]:
    """What the table cannot show: errors, and what an arbiter said."""
    lines = []
    for row in rows:
        for engine, text in row["errors"].items():
            lines.append(f"- {cell(row['name'])}, {engine}: {cell(str(text))}")
        if "arbiter" in row:
            said = row["arbiter"]
            lines.append(f"- {cell(row['name'])}: from the results of {said['name']}, Scanloom is "
                         f"{said['ours']:.2g} tolerances away, {row['peer']} {said['peer']:.2g}")
    return lines


def markdown(rows: Sequence[Row], machine: str, not_made: Sequence[tuple[str, str]]) -> str:
    """The measured part of the page."""
    parts = [machine, "", "Geometric means, and medians in brackets:", "", *summary(rows), "",
             line(HEADINGS), line(["---"] * len(HEADINGS)), *map(model_line, rows)]
    said = remarks(rows)
    if said:
        parts += ["", "Errors and arbiters:", "", *said]
    if not_made:
        parts += ["", "Not exported:", "",
                  *(f"- {cell(name)}: {cell(reason)}" for name, reason in not_made)]
    return "\n".join(parts)


def write(page: pathlib.Path, rows: Sequence[Row], machine: str,
          not_made: Sequence[tuple[str, str]] = ()) -> None:
    """Replaces the measured part of the page."""
    old = page.read_text(encoding="utf-8")
    text = markdown(rows, machine, not_made)
    new, count = PART.subn(lambda part: f"{part[1]}\n{text}\n\n{part[2]}", old)
    if count != 1:
        raise ValueError(f"{page} has {count} parts marked as measured; 1 is needed")
    page.write_text(new, encoding="utf-8")
