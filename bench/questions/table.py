"""Rows of a table in a shared variable that calls of a function update: the time of a call does not
depend on the size of the table."""

from harness import Engine, Peer, Question
from workloads import table

NAMES = ("table",)

BESIDE_NUMPY = 50.0  # a call of a function compared with two lines of numpy


BESIDE_STEPS = 100.0  # where numpy needs no loop


def questions(place, clock):
    yield from _rows(place)
    for form in table.FORMS:
        for rows in table.LONG_ROWS:
            if place.wants(f"table/{form}", {"n": rows}):
                yield _form(form, rows)


def _form(form, rows):
    limit = BESIDE_STEPS if form == "steps" else BESIDE_NUMPY
    about = (f"{table.UPDATED} rows of {table.NARROW} doubles of a table of {rows} rows, "
             f"by {form.replace('_', ' ')}")
    return _update(f"table/{form}", rows, about, table.Form(form, rows), limit)


def _rows(place):
    for rows in table.ROWS:
        if not place.wants("table/rows", {"n": rows}):
            continue
        about = f"{table.UPDATED} rows of {table.WIDTH} doubles of a table of {rows} rows"
        yield _update("table/rows", rows, about, table.Table(rows), BESIDE_NUMPY)


def _update(name, rows, about, work, limit):
    work.check()
    return Question(
        name=name,
        sizes={"n": rows},
        about=about,
        unit="call",
        units=1,
        ours=Engine("scanloom", work.call),
        peers=[Peer(Engine("numpy", work.in_numpy), limit)],
        reference=work.reference(),
        tolerance=0,
    )
