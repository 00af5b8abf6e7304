"""W0: a Loop that adds one, 1e6 times, compared with a plain C loop.

The compiled counter may be reduced to a closed form (start + steps); the C loop may not, see
baseline/scalar.c. Numba's loop is reduced too, so it runs the variant that keeps every count. These
variants have no closed form. With a constant trip count, the loop is compiled; with a trip count
that is fed, the number of rows is not known in advance and the loop is stepped."""

import numpy as np

import engines
from harness import Engine, Peer, Question
from models import COUNTER_STEPS as STEPS
from peers import SCANS, optional

NAMES = ("counter",)

START = 5
TARGET, NOT_BEHIND = 1.2, 1.1  # for the C loop, for peers


def questions(place, clock):
    trips, start = np.array(STEPS, np.int64), np.array(START, np.int64)
    feeds = {"trips": trips, "start": start}
    path = place.models["counter"]
    plain = Engine("C loop", lambda: place.baseline.counter(STEPS, START))
    yield Question(
        name="counter/compiled",
        about="Loop that adds one to an int64; compiled",
        unit="step",
        units=STEPS,
        ours=engines.ours(path, feeds),
        peers=[
            Peer(plain, target=TARGET),
            Peer(engines.peer(path, feeds), NOT_BEHIND),
            *optional("openvino", "model", path, feeds, target=NOT_BEHIND),
            *optional("pytensor", "counter", STEPS, START, module=SCANS, target=NOT_BEHIND),
        ],
        reference=[np.int64(START + STEPS)],
    )
    rows = np.empty(STEPS, np.int64)
    plain_rows = Engine("C loop", lambda: place.baseline.counter_rows(STEPS, START, rows))
    reference = [np.int64(START + STEPS), START + 1 + np.arange(STEPS)]
    yield Question(
        name="counter_rows/compiled",
        about="the same, every count kept; the trip count is a constant of the model",
        unit="step",
        units=STEPS,
        ours=engines.ours(place.models["counter_rows_fixed"], {"start": start}),
        peers=[Peer(plain_rows, target=TARGET)],
        reference=reference,
    )
    path = place.models["counter_rows"]
    yield Question(
        name="counter_rows/fed",
        about="the same, the trip count is fed: rows are gathered while stepping",
        unit="step",
        units=STEPS,
        ours=engines.ours(path, feeds),
        peers=[
            Peer(plain_rows, target=TARGET),
            Peer(engines.peer(path, feeds), NOT_BEHIND),
            *optional("openvino", "model", path, feeds, target=NOT_BEHIND),
            *optional("numba", "counter_rows", STEPS, START, target=NOT_BEHIND),
        ],
        reference=reference,
    )
