"""Sequences of unequal lengths through one model: Scanloom's run_many compared with onnxruntime, with
padded batches sorted by length and one by one, and with torch's packed sequences where it is
installed. Run it by hand:

    build/venv/bin/python bench/ragged.py --sequences 2000 --only lstm gru

All engines get the same sequences as arrays in memory, in the same window, and give each sequence its
own results. Results are compared first: Scanloom's with its own single runs, bit for bit, and with
those of the others. Rounds alternate between the engines, and the fastest of each counts. The last
columns are the growth of the memory of the process while --stream sequences of a generator are run,
at the half and at the end."""

import argparse
import os
import pathlib
import sys
import tempfile
import time

import numpy as np
import onnxruntime

import scanloom
from first_result import resident_bytes
from workloads import cells, ragged

try:
    import torch
except ImportError:
    torch = None


CLOCKS = {"wall": time.perf_counter, "processor": time.process_time}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sequences", type=int, default=1000, help="in a round")
    parser.add_argument("--shortest", type=int, default=10)
    parser.add_argument("--longest", type=int, default=5000)
    parser.add_argument("--units", type=int, default=128)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--clock", choices=CLOCKS, default="wall", help="processor: for a machine that others use"
    )
    parser.add_argument("--stream", type=int, default=0, help="sequences to measure memory with")
    parser.add_argument("--only", nargs="+", default=[], help="names of models")
    return parser.parse_args()


class Work:
    """A model, its sequences, and one function per engine that runs them all."""

    def __init__(self, model, path, options):
        self.model = model
        self.options = options
        self.lengths = ragged.lengths(options.sequences, options.shortest, options.longest)
        self.sequences = [
            ragged.sequence(model, steps, seed) for seed, steps in enumerate(self.lengths)
        ]
        model.write(path)
        batched = path.with_name("batched.onnx")
        ragged.with_lengths(model, batched)
        self.session = scanloom.InferenceSession(path, threads=options.threads)
        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads = options.threads
        self.peer = onnxruntime.InferenceSession(path, settings)
        self.batched = onnxruntime.InferenceSession(batched, settings)
        self.reports = []

    def run_many(self):
        feeds = [{"xs": x} for x in self.sequences]
        return self.session.run_many(
            None, feeds, batch=self.options.batch, report=self.reports.append
        )

    def padded(self):
        """Sorted by length, so that few rows are padding."""
        results = [None] * len(self.sequences)
        order = np.argsort(-self.lengths, kind="stable")
        for first in range(0, len(order), self.options.batch):
            some = order[first : first + self.options.batch]
            feeds = {"xs": ragged.padded([self.sequences[i] for i in some])}
            if self.model.both:
                feeds["lengths"] = self.lengths[some].astype(np.int32)
            rows, _ = self.batched.run(None, feeds)
            for lane, i in enumerate(some):
                results[i] = rows[: self.lengths[i], lane : lane + 1].copy()
        return results

    def one_by_one(self):
        return [self.peer.run(None, {"xs": x})[0] for x in self.sequences]

    def packed(self):
        """torch's layer on packed sequences, in batches sorted by length."""
        layer = self._torch_layer()
        results = [None] * len(self.sequences)
        order = np.argsort(-self.lengths, kind="stable")
        with torch.inference_mode():
            for first in range(0, len(order), self.options.batch):
                some = order[first : first + self.options.batch]
                given = [torch.from_numpy(self.sequences[i][:, 0]) for i in some]
                packed, _ = layer(torch.nn.utils.rnn.pack_sequence(given))
                rows, _ = torch.nn.utils.rnn.pad_packed_sequence(packed)
                for lane, i in enumerate(some):
                    results[i] = rows[: self.lengths[i], lane : lane + 1].numpy().copy()
        return results

    def _torch_layer(self):
        kind, width = self.model.name.removeprefix("bi"), self.model.width
        arrays = cells.weights(cells.Cell(kind, 1, width, 1))
        layer = getattr(torch.nn, self.model.torch)(width, width, bidirectional=self.model.both)
        gates = _torch_order(kind, width)
        found = {
            "weight_ih_l0": torch.from_numpy(arrays["w"].T[gates].copy()),
            "weight_hh_l0": torch.from_numpy(arrays["r"].T[gates].copy()),
            "bias_ih_l0": torch.from_numpy(arrays["w_bias"][gates].copy()),
            "bias_hh_l0": torch.from_numpy(arrays["r_bias"][gates].copy()),
        }
        backwards = {f"{name}_reverse": each for name, each in found.items()}
        layer.load_state_dict({**found, **(backwards if self.model.both else {})})
        return layer

    def engines(self):
        found = {
            "scanloom": self.run_many,
            "onnxruntime, padded": self.padded,
            "onnxruntime, one by one": self.one_by_one,
        }
        if torch is not None and self.model.torch:
            torch.set_num_threads(self.options.threads)
            found["torch, packed"] = self.packed
        return found

    def check(self):
        """Raises if results differ: from single runs in any bit, from peers by more than 1e-4."""
        ours = self.run_many()
        for i in range(0, len(ours), max(1, len(ours) // 50)):
            alone = self.session.run(None, {"xs": self.sequences[i]})
            if any(a.tobytes() != b.tobytes() for a, b in zip(ours[i], alone)):
                raise SystemExit(f"{self.model.name}: sequence {i} has other bits than alone")
        for name, run in self.engines().items():
            if name == "scanloom":
                continue
            for i, rows in enumerate(run()):
                error = np.abs(rows - ours[i][0]).max(initial=0)
                if error > 1e-4 * max(1.0, np.abs(rows).max(initial=0)):
                    raise SystemExit(f"{self.model.name}: {name} differs by {error} in {i}")


def _torch_order(kind, width):
    """ONNX's gates are input, output, forget, cell; update, reset, new."""
    order = (0, 2, 3, 1) if kind == "lstm" else (1, 0, 2)
    return np.concatenate([np.arange(width) + gate * width for gate in order])


def measure(work):
    """Returns the least seconds of each engine."""
    best, clock = {}, CLOCKS[work.options.clock]
    for _ in range(work.options.rounds):
        for name, run in work.engines().items():
            began = clock()
            run()
            seconds = clock() - began
            best[name] = min(seconds, best.get(name, seconds))
    return best


def measure_memory(work):
    """Returns the growth of the memory at the half and at the end, in MB."""
    options, count = work.options, work.options.stream
    few = work.sequences[: min(len(work.sequences), 1000)]
    results = work.session.iter_many(
        None, ({"xs": few[i % len(few)]} for i in range(count)), batch=options.batch
    )
    before, grown = resident_bytes("VmRSS"), []
    for i, _ in enumerate(results):
        if i + 1 in (count // 2, count):
            grown.append((resident_bytes("VmRSS") - before) / 1e6)
    return grown


def main():
    options = arguments()
    for model in ragged.models(options.units):
        if options.only and model.name not in options.only:
            continue
        with tempfile.TemporaryDirectory() as folder:
            work = Work(model, pathlib.Path(folder) / "model.onnx", options)
            work.check()
            best = measure(work)
            steps = int(work.lengths.sum())
            ours = best["scanloom"]
            print(f"{model.name}: {len(work.sequences)} sequences, {steps} steps")
            for name, seconds in best.items():
                print(
                    f"  {name:24} {1e6 * seconds / steps:9.4f} us per step "
                    f"{len(work.sequences) / seconds:9.1f} sequences/s {seconds / ours:6.2f}"
                )
            print(f"  {work.reports[-1]}".replace("\n", "\n  "))
            if options.stream:
                grown = ", ".join(f"{megabytes:.0f} MB" for megabytes in measure_memory(work))
                print(f"  memory grew by {grown}")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
