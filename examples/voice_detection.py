#!/usr/bin/env python3
"""Finds speech in a WAV file (16 kHz, mono, 16 bits) with silero_vad.onnx and prints its segments.

    voice_detection.py silero_vad.onnx recording.wav
"""

import os
import sys
import wave

import numpy as np
import scanloom

RATE = 16000
CHUNK = 512  # samples that are new in each push
CONTEXT = 64  # the last samples of the chunk before, in front of it
BEGIN_AT, END_UNDER, SILENCE_SECONDS = 0.5, 0.35, 0.1


def read_wav(path):
    with wave.open(path) as file:
        found = (file.getnchannels(), 8 * file.getsampwidth(), file.getframerate())
        if found != (1, 16, RATE):
            raise wave.Error("it has {} channel(s) of {} bits at {} Hz,"
                             " needed is 1 of 16 bits at 16000 Hz".format(*found))
        promised = 2 * file.getnframes()
        frames = file.readframes(file.getnframes())
    if len(frames) != promised:
        raise wave.Error(f"it is cut off: its header promises {promised} bytes of samples,"
                         f" it holds {len(frames)}")
    return np.frombuffer(frames, "<i2").astype(np.float32) / 32768


def probabilities(model, samples):
    """The probability of speech of each chunk; the stream keeps the model's state."""
    session = scanloom.InferenceSession(model, threads=1)
    stream = session.stream(states={"state": "stateN"})
    stream.set("state", np.zeros((2, 1, 128), np.float32))
    count = -(-len(samples) // CHUNK)
    padded = np.zeros(CONTEXT + count * CHUNK, np.float32)
    padded[CONTEXT : CONTEXT + len(samples)] = samples
    for at in range(0, count * CHUNK, CHUNK):
        chunk = padded[None, at : at + CONTEXT + CHUNK]
        yield float(stream.push({"input": chunk, "sr": np.array(RATE)})[0, 0])


def segments(probabilities):
    """Speech begins at 0.5 and ends where it fell under 0.35, unless 0.5 returns within 100 ms."""
    begin = quiet_since = None
    now = 0.0
    for probability in probabilities:
        if probability >= BEGIN_AT:
            quiet_since = None
            begin = now if begin is None else begin
        elif probability < END_UNDER and begin is not None:
            quiet_since = now if quiet_since is None else quiet_since
            if now - quiet_since >= SILENCE_SECONDS:
                yield begin, quiet_since
                begin = quiet_since = None
        now += CHUNK / RATE
    if begin is not None:
        yield begin, now if quiet_since is None else quiet_since


def main():
    if len(sys.argv) != 3:
        print("usage: voice_detection.py MODEL.onnx RECORDING.wav", file=sys.stderr)
        return 2
    _, model, recording = sys.argv
    try:
        samples = read_wav(recording)
    except (OSError, EOFError, wave.Error) as problem:
        print(f"error: {recording}: {str(problem) or 'not a WAV file'}", file=sys.stderr)
        return 2
    try:
        for begin, end in segments(probabilities(model, samples)):
            print(f"speech from {begin:6.2f} s to {end:6.2f} s")
        sys.stdout.flush()
    except scanloom.Error as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 2
    except OSError as problem:
        print(f"error: cannot write the segments: {problem.strerror}", file=sys.stderr, flush=True)
        os._exit(2)  # at its usual end Python would try to write again
    return 0


if __name__ == "__main__":
    sys.exit(main())
