"""Measures a question: checks the engines first, then times them in interleaved pairs.

A pair is one sample of Scanloom and one of a peer, in alternating order, so that other load of the
machine affects both. The result is the ratio within a pair; its median is compared with the
target."""

import dataclasses
import itertools
import pathlib
import statistics
import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np

Arrays = Sequence[np.ndarray]
Sizes = Mapping[str, int]  # by letter: b for batch, h for units, n for elements or states

PAIRS_OF_MEMORY = 3  # memory varies little from run to run
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}


class Wrong(Exception):
    """An engine's result differs from the reference, so its time does not count."""


class Skip(Exception):
    """A question cannot be asked here, for the reason in the text."""


@dataclasses.dataclass
class Engine:
    """One way to compute the answer. `run` returns arrays in the order of the reference.

    A `timed` engine measures itself, for example in another process, and returns (seconds,
    arrays), or (bytes, arrays) for questions about memory."""

    name: str
    run: Callable
    strategy: str = ""  # how Scanloom executes its loops, as in session.explain()
    timed: bool = False
    execution: str = ""  # the option of Scanloom: compiled or stepped


@dataclasses.dataclass
class Peer:
    engine: Engine
    target: float | None = None  # the largest acceptable ratio Scanloom / peer; None: no target
    optional: bool = False  # may fail on a model or be wrong, which is only listed
    unchecked: bool = False  # computes something else, whose cost Scanloom's is compared with


@dataclasses.dataclass
class Question:
    """A question. Times are per unit; one run covers `units` of them."""

    name: str
    about: str
    unit: str
    units: int
    ours: Engine
    peers: list[Peer]
    reference: Arrays
    tolerance: float = 0.0  # relative to the largest magnitude of the reference; 0: equal
    reference_name: str = "numpy"
    memory: bool = False  # measures bytes instead of time; a few pairs are enough
    sizes: Sizes = dataclasses.field(default_factory=dict)  # what --sizes selects by
    pairing: str = ""  # the name without Scanloom's strategy, if the name includes it


@dataclasses.dataclass
class Place:
    """The folders and settings that all questions share."""

    build: pathlib.Path
    shared: pathlib.Path
    cache: pathlib.Path
    models: dict[str, pathlib.Path]
    baseline: object
    only: Sequence[str] = ()
    threads: int = 1  # for the engines that support several
    sizes: Mapping[str, Sequence[int]] = dataclasses.field(default_factory=dict)

    def wants(self, name: str, sizes: Sizes | None = None) -> bool:
        """Whether questions with this prefix are selected, by --only and, if given, by these
        sizes."""
        if sizes is not None and not self.has_sizes(sizes):
            return False
        return not self.only or any(x.startswith(name) or name.startswith(x) for x in self.only)

    def has_sizes(self, sizes: Sizes) -> bool:
        """Whether the sizes are selected by --sizes; without --sizes, all are."""
        return all(sizes.get(letter) in values for letter, values in self.sizes.items())

    def further_sizes(self, known: Sequence[Sizes], usual: Mapping[str, int | None]) -> list[Sizes]:
        """All combinations of the selected sizes that are not known yet. A size that is not
        selected has its usual value; if that is None, the size must be selected."""
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
    memory: bool  # fields named ns are bytes

    @property
    def met(self) -> bool | None:
        return None if self.target is None else self.ratio_median <= self.target


def check(question: Question, engine: Engine) -> None:
    """Runs the engine once and compares the results with the reference. Raises Wrong."""
    check_results(question, engine.name, results_of(engine), question.reference)


def results_of(engine: Engine) -> Arrays:
    return engine.run()[1] if engine.timed else engine.run()


def check_results(
    question: Question, name: str, results: Arrays, reference: Arrays, whose: str = "the reference"
) -> None:
    """Raises Wrong if the results of the named engine differ from the reference."""
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
    """Times an engine. The number of runs per sample is determined once, to fill `seconds`."""

    def __init__(self, engine: Engine, clock: Callable[[], float], seconds: float) -> None:
        self._engine = engine
        self._clock = clock
        self._runs = 1
        while not engine.timed and self._sample_all() < seconds:
            self._runs *= 2

    def sample(self) -> float:
        """Returns the seconds of one run."""
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
    """Measures interleaved pairs of Scanloom and one peer, after checking both."""
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
