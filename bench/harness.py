"""How a question is measured: engines checked first, then timed in interleaved pairs.

A pair is one sample of Scanloom next to one sample of a peer, in alternating order, so that what
else the machine does meets both. What counts is the ratio within a pair; its median is compared
with the target."""

import dataclasses
import itertools
import pathlib
import statistics
import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np

Arrays = Sequence[np.ndarray]
Sizes = Mapping[str, int]  # by letter: b for batch, h for units, n for elements or states

PAIRS_OF_MEMORY = 3  # it differs little from run to run
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}


class Wrong(Exception):
    """An engine's result differs from the reference; its time does not count."""


class Skip(Exception):
    """A question cannot be asked here; the text says why."""


@dataclasses.dataclass
class Engine:
    """One way to compute the answer. `run` returns arrays in the order of the reference.

    A `timed` engine returns (seconds, arrays): what it does in another process times itself. Of
    questions about memory these are bytes."""

    name: str
    run: Callable
    strategy: str = ""  # how Scanloom executes its loops, in the words of session.explain()
    timed: bool = False
    execution: str = ""  # what Scanloom was told to do: compiled or stepped


@dataclasses.dataclass
class Peer:
    engine: Engine
    target: float | None = None  # the largest ratio Scanloom / peer that is good; None: none set
    optional: bool = False  # may fail on a model or be wrong; that is listed and no more
    unchecked: bool = False  # answers another question, whose cost the first one is compared with


@dataclasses.dataclass
class Question:
    """What is asked. Times are per unit; one run covers `units` of them."""

    name: str
    about: str
    unit: str
    units: int
    ours: Engine
    peers: list[Peer]
    reference: Arrays
    tolerance: float = 0.0  # relative to the largest magnitude of the reference; 0: equal
    reference_name: str = "numpy"
    memory: bool = False  # bytes in the place of times; a few pairs are enough
    sizes: Sizes = dataclasses.field(default_factory=dict)  # what --sizes selects by
    pairing: str = ""  # the name without what Scanloom made of it, where the name tells that


@dataclasses.dataclass
class Place:
    """Where things lie, and the engines' common parts."""

    build: pathlib.Path
    shared: pathlib.Path
    cache: pathlib.Path
    models: dict[str, pathlib.Path]
    baseline: object
    only: Sequence[str] = ()
    threads: int = 1  # of those engines that are asked to take more than one
    sizes: Mapping[str, Sequence[int]] = dataclasses.field(default_factory=dict)

    def wants(self, name: str, sizes: Sizes | None = None) -> bool:
        """Whether a question whose name begins so may be asked; one of these sizes, where they are
        given."""
        if sizes is not None and not self.has_sizes(sizes):
            return False
        return not self.only or any(x.startswith(name) or name.startswith(x) for x in self.only)

    def has_sizes(self, sizes: Sizes) -> bool:
        """Whether the sizes are among those that are asked for. All are where none are named."""
        return all(sizes.get(letter) in values for letter, values in self.sizes.items())

    def further_sizes(self, known: Sequence[Sizes], usual: Mapping[str, int | None]) -> list[Sizes]:
        """Sizes that are asked for and are not among the known: all combinations. What is not named
        is as usual; where that is None it must be named."""
        if not self.sizes or not self.sizes.keys() <= usual.keys():
            return []
        if any(usual[letter] is None and letter not in self.sizes for letter in usual):
            return []
        values = [self.sizes.get(letter, [number]) for letter, number in usual.items()]
        named = [dict(zip(usual, numbers)) for numbers in itertools.product(*values)]
        return [sizes for sizes in named if sizes not in known]


@dataclasses.dataclass
class Comparison:
    question: str
    about: str
    unit: str
    units: int
    checked_against: str
    peer: str
    ours_ns: float
    peer_ns: float
    ours_median_ns: float
    peer_median_ns: float
    ratio_min: float
    ratio_median: float
    pairs: int
    target: float | None
    strategy: str
    memory: bool  # what is named ns are bytes

    @property
    def met(self) -> bool | None:
        return None if self.target is None else self.ratio_median <= self.target


def check(question: Question, engine: Engine) -> None:
    """Runs the engine once and compares with the reference. Raises Wrong."""
    check_results(question, engine.name, results_of(engine), question.reference)


def results_of(engine: Engine) -> Arrays:
    return engine.run()[1] if engine.timed else engine.run()


def check_results(
    question: Question, name: str, results: Arrays, reference: Arrays, whose: str = "the reference"
) -> None:
    """Raises Wrong where the results of an engine of that name are not those of the reference."""
    if len(results) != len(reference):
        raise Wrong(
            f"{question.name}: {name} gives {len(results)} results, {whose} has {len(reference)}"
        )
    for index, (found, wanted) in enumerate(zip(results, reference)):
        found, wanted = np.asarray(found), np.asarray(wanted)
        if found.size != wanted.size:
            raise Wrong(
                f"{question.name}: result {index} of {name} has {found.size} elements, "
                f"{whose} has {wanted.size}"
            )
        wrong = np.abs(found.reshape(-1).astype(np.float64) - wanted.reshape(-1))
        allowed = question.tolerance * max(1.0, float(np.abs(wanted).max(initial=0)))
        if not wrong.max(initial=0) <= allowed:
            raise Wrong(
                f"{question.name}: result {index} of {name} differs from {whose} "
                f"by {wrong.max():.3g}, {allowed:.3g} is allowed"
            )


class Timer:
    """Times an engine: as many runs per sample as fill `seconds`, found once."""

    def __init__(self, engine: Engine, clock: Callable[[], float], seconds: float) -> None:
        self._engine = engine
        self._clock = clock
        self._runs = 1
        while not engine.timed and self._sample_all() < seconds:
            self._runs *= 2

    def sample(self) -> float:
        """Seconds of one run."""
        if self._engine.timed:
            return self._engine.run()[0]
        return self._sample_all() / self._runs

    def _sample_all(self) -> float:
        run = self._engine.run
        start = self._clock()
        for _ in range(self._runs):
            run()
        return self._clock() - start


def compare(
    question: Question, peer: Peer, clock: str, pairs: int, seconds: float
) -> Comparison:
    """Interleaved pairs of Scanloom and one peer; both are checked before."""
    if question.memory:
        pairs = min(pairs, PAIRS_OF_MEMORY)
    ours, theirs = (
        Timer(engine, CLOCKS[clock], seconds) for engine in (question.ours, peer.engine)
    )
    samples = []
    for pair in range(pairs):
        if pair % 2:
            theirs_first = theirs.sample()
            samples.append((ours.sample(), theirs_first))
        else:
            ours_first = ours.sample()
            samples.append((ours_first, theirs.sample()))
    per_unit = (1 if question.memory else 1e9) / question.units
    ratios = [mine / other for mine, other in samples]
    return Comparison(
        question=question.name,
        about=question.about,
        unit=question.unit,
        units=question.units,
        checked_against=question.reference_name,
        peer=peer.engine.name,
        ours_ns=min(mine for mine, _ in samples) * per_unit,
        peer_ns=min(other for _, other in samples) * per_unit,
        ours_median_ns=statistics.median(mine for mine, _ in samples) * per_unit,
        peer_median_ns=statistics.median(other for _, other in samples) * per_unit,
        ratio_min=min(ratios),
        ratio_median=statistics.median(ratios),
        pairs=pairs,
        target=peer.target,
        strategy=question.ours.strategy,
        memory=question.memory,
    )
