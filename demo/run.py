#!/usr/bin/env python3
"""The demo: a voice detector follows a recording, a classifier reads digits, both on real input.

Prints what was found and the times compared with onnxruntime's, one thread each; writes the picture
build/demo/voice.png."""

import argparse
import pathlib
import statistics
import sys

import fetch_models
import numpy as np

PICTURE = pathlib.Path(__file__).resolve().parents[1] / "build" / "demo" / "voice.png"
ENGINES = ("scanloom", "onnxruntime")


def open_sessions(model: str | bytes) -> list:
    """The model in both engines, one thread each."""
    import onnxruntime
    import scanloom

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return [
        scanloom.InferenceSession(model, threads=1),
        onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"]),
    ]


def show_voice(models: pathlib.Path, recordings: list[pathlib.Path]) -> list[float]:
    """Returns the median seconds per chunk of each engine."""
    import voice
    from recording import RATE, read_wav, with_pauses

    samples = with_pauses([read_wav(path) for path in recordings])
    sessions = open_sessions(str(models / fetch_models.VOICE_MODEL))
    detectors = [voice.Detector(session) for session in sessions]
    print(f"voice detector: {len(recordings)} sentences read aloud, {len(samples) / RATE:.1f} s,"
          f" chunks of {voice.CHUNK / RATE * 1e3:.0f} ms")
    voice.listen(detectors, samples)
    ours, peers = (np.array(detector.probabilities) for detector in detectors)
    for number, segment in enumerate(voice.find_segments(ours.tolist()), 1):
        print(f"  speech {number}: {segment.begin:6.2f} s to {segment.end:6.2f} s")
    print(f"  largest difference from onnxruntime over {len(ours)} probabilities:"
          f" {np.abs(ours - peers).max():.1e}")
    voice.draw(PICTURE, samples, ours.tolist())
    print(f"  picture: {PICTURE.relative_to(PICTURE.parents[2])}")
    return [statistics.median(detector.seconds) for detector in detectors]


def show_digits(repeats: int) -> tuple[list[float], int]:
    """Returns the median seconds per run of each engine, and the steps of a run."""
    import digits

    model, images, labels = digits.make_classifier()
    read, seconds = digits.read_digits(open_sessions(model), images, repeats)
    same = np.array_equal(read[0], read[1])
    print(f"digit reader: {len(images)} handwritten digits, 3 nearest of {digits.TRAINED_ON}")
    print(f"  accuracy {100 * np.mean(read[0] == labels):.2f} %,"
          f" {'every answer' if same else 'NOT every answer'} as onnxruntime's")
    return [statistics.median(times) for times in seconds], digits.TRAINED_ON


def print_times(rows: list[tuple[str, list[float]]]) -> None:
    print(f"\n{'time, one thread, median':<28}{ENGINES[0]:>14}{ENGINES[1]:>14}{'ratio':>9}")
    for label, (ours, peers) in rows:
        print(f"{label:<28}{ours * 1e6:>11.1f} us{peers * 1e6:>11.1f} us{ours / peers:>9.2f}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=15, help="runs of the digit reader")
    options = parser.parse_args()
    try:
        models, recordings = fetch_models.fetch_models(), fetch_models.fetch_recordings()
    except fetch_models.Missing as missing:
        print(f"error: {missing}", file=sys.stderr)
        return 2
    chunk = show_voice(models, recordings)
    run, steps = show_digits(options.repeats)
    print_times([
        ("voice, per chunk", chunk),
        (f"digits, per run of {steps} steps", run),
        ("digits, per step", [seconds / steps for seconds in run]),
    ])
    return 0


if __name__ == "__main__":
    sys.exit(main())
