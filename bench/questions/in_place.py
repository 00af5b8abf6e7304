"""A step that updates a window of a state, compared with numpy; and that its time does not depend
on the size of the state, which is also a hundred times as large."""

from harness import Engine, Peer, Question, check_results
from workloads import in_place

NAMES = ("in_place",)

BESIDE_NUMPY, BESIDE_SMALL = 1.0, 1.5


def questions(place, clock):
    for kind in in_place.WINDOWS:
        for adds in (False, True):
            name = f"in_place/{kind}_{'add' if adds else 'set'}"
            if place.wants(name):
                yield _question(name, kind, adds)


def _question(name, kind, adds):
    ours = {}
    for size, rows in in_place.ROWS.items():
        function, table = in_place.written(kind, adds), in_place.table(rows)
        ours[size] = lambda function=function, table=table: [function(table)]
    large, small = (in_place.table(in_place.ROWS[size]) for size in ("large", "small"))
    question = Question(
        name=name,
        sizes={"n": large.size},
        about=f"{'adding to' if adds else 'writing'} {kind.replace('_', ' ')} of a table of {large.size} numbers",
        unit="step",
        units=in_place.STEPS,
        ours=Engine("scanloom", ours["large"]),
        peers=[
            Peer(Engine("numpy", lambda: in_place.in_numpy(kind, adds, large)), BESIDE_NUMPY),
            Peer(Engine("a hundredth of the table", ours["small"]), BESIDE_SMALL, unchecked=True),
        ],
        reference=in_place.in_numpy(kind, adds, large),
        tolerance=1e-9,
    )
    expected = in_place.in_numpy(kind, adds, small)
    check_results(question, "scanloom with a hundredth of the table", ours["small"](), expected)
    return question
