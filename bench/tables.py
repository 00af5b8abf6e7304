"""Formatting of figures and table rows."""

from collections.abc import Sequence


def time_text(nanoseconds: float) -> str:
    for limit, unit, scale in ((1e3, "ns", 1), (1e6, "us", 1e3), (1e9, "ms", 1e6)):
        if nanoseconds < limit:
            return f"{nanoseconds / scale:.3g} {unit}"
    return f"{nanoseconds / 1e9:.3g} s"


def memory_text(size: float) -> str:
    return f"{size / 2**20:.3g} MiB"


def print_cells(cells: Sequence[str], widths: Sequence[int]) -> None:
    print(" ".join(cell.ljust(width) for cell, width in zip(cells, widths)).rstrip(), flush=True)
