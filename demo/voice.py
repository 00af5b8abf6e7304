"""The voice detector: chunks of 512 samples in, the probability of speech out, state carried on."""

import dataclasses
import pathlib
import sys
import time

import numpy as np

from recording import RATE

CHUNK = 512
CONTEXT = 64  # samples of the chunk before, in front of every chunk

BEGIN_AT = 0.5
END_UNDER = 0.35
SILENCE_SECONDS = 0.1


class Detector:
    """One engine's session with the state that goes from chunk to chunk."""

    def __init__(self, session):
        self._session = session
        self._state = np.zeros((2, 1, 128), np.float32)
        self._context = np.zeros((1, CONTEXT), np.float32)
        self._rate = np.array(RATE, np.int64)
        self.probabilities: list[float] = []
        self.seconds: list[float] = []

    def push(self, chunk: np.ndarray) -> None:
        samples = np.concatenate([self._context, chunk[None]], axis=1)
        feeds = {"input": samples, "state": self._state, "sr": self._rate}
        begin = time.perf_counter()
        output, self._state = self._session.run(["output", "stateN"], feeds)
        self.seconds.append(time.perf_counter() - begin)
        self._context = samples[:, -CONTEXT:]
        self.probabilities.append(float(output[0, 0]))


def chunks_of(samples: np.ndarray) -> np.ndarray:
    """Rows of one chunk each; the rest at the end is filled with silence."""
    count = -(-len(samples) // CHUNK)
    padded = np.zeros(count * CHUNK, np.float32)
    padded[: len(samples)] = samples
    return padded.reshape(count, CHUNK)


def listen(detectors: list[Detector], samples: np.ndarray) -> None:
    """Streams the recording through all detectors, each chunk in turn, so that the times compare."""
    chunks = chunks_of(samples)
    for index, chunk in enumerate(chunks):
        order = detectors if index % 2 == 0 else detectors[::-1]
        for detector in order:
            detector.push(chunk)
        draw_progress(index + 1, len(chunks))


def draw_progress(done: int, total: int) -> None:
    if not sys.stderr.isatty() or (done % 16 and done != total):
        return
    width = 40
    bar = "#" * (width * done // total)
    end = "\n" if done == total else ""
    sys.stderr.write(f"\rlistening [{bar:<{width}}] {done * CHUNK / RATE:5.1f} s{end}")
    sys.stderr.flush()


@dataclasses.dataclass(frozen=True)
class Segment:
    """Speech from one second to another."""

    begin: float
    end: float


def find_segments(probabilities: list[float]) -> list[Segment]:
    """Speech begins at 0.5 and ends where it fell under 0.35, unless 0.5 returns within 100 ms."""
    segments = []
    begin = quiet_since = None
    for index, probability in enumerate([*probabilities, 0.0]):
        now = index * CHUNK / RATE
        if probability >= BEGIN_AT:
            quiet_since = None
            begin = now if begin is None else begin
        elif probability < END_UNDER and begin is not None:
            quiet_since = now if quiet_since is None else quiet_since
            if now - quiet_since >= SILENCE_SECONDS or index == len(probabilities):
                segments.append(Segment(begin, quiet_since))
                begin = quiet_since = None
    return segments


def draw(path: pathlib.Path, samples: np.ndarray, probabilities: list[float]) -> None:
    """The picture: the waveform, and under it the probability over time."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (wave, speech) = pyplot.subplots(
        2, 1, figsize=(12, 4.5), sharex=True, layout="constrained", height_ratios=[3, 2]
    )
    wave.plot(np.arange(len(samples)) / RATE, samples, linewidth=0.3, color="#33658a")
    wave.set_ylabel("waveform")
    wave.set_yticks([])
    times = np.arange(len(probabilities)) * CHUNK / RATE
    speech.plot(times, probabilities, linewidth=0.9, color="#d1495b")
    speech.axhline(BEGIN_AT, color="grey", linewidth=0.6, linestyle="--")
    speech.set_ylabel("probability of speech")
    speech.set_xlabel("seconds")
    speech.set_ylim(-0.02, 1.02)
    speech.set_xlim(0, len(samples) / RATE)
    for segment in find_segments(probabilities):
        for axes in (wave, speech):
            axes.axvspan(segment.begin, segment.end, color="#86bbd8", alpha=0.3, linewidth=0)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
