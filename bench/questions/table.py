"""Rows of a table in a shared variable that calls of a function update: the time of a call does not
depend on the size of the table."""

from harness import Engine, Peer, Question
from workloads import table

NAMES = ("table",)

BESIDE_NUMPY = 50.0  # a call of a function compared with two lines of numpy


def questions(place, clock):
    for rows in table.ROWS:
        if not place.wants("table/rows", {"n": rows}):
            continue
        work = table.Table(rows)
        work.check()
        yield Question(
            name="table/rows",
            sizes={"n": rows},
            about=f"{table.UPDATED} rows of {table.WIDTH} doubles of a table of {rows} rows",
            unit="call",
            units=1,
            ours=Engine("scanloom", work.call),
            peers=[Peer(Engine("numpy", work.in_numpy), BESIDE_NUMPY)],
            reference=work.reference(),
            tolerance=0,
        )
