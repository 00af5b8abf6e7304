"""What all exporter scripts share. It needs only numpy and the standard library, because each script
runs in the environment of its exporter: SCRIPT FOLDER [NAME...].

A script writes NAME.onnx, NAME.feeds.npz (the inputs), NAME.expected.npz (the results of the
framework itself), and made.json, which lists them, and the reason of each model that could not be
made."""

import json
import pathlib
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence

import numpy as np

MAX_REASON = 300

# Writes the model to a path; returns its inputs by name and the framework's results in order.
Make = Callable[[pathlib.Path], tuple[Mapping[str, np.ndarray], Sequence[np.ndarray] | None]]


def make_all(models: Mapping[str, Make], suffix: str = ".onnx") -> None:
    """Makes the models that the command line names, or all."""
    folder, only = pathlib.Path(sys.argv[1]), sys.argv[2:]
    notes = folder / "made.json"
    rows = {row["name"]: row for row in json.loads(notes.read_text())} if notes.exists() else {}
    for name, make in models.items():
        if only and not name.startswith(tuple(only)):
            continue
        rows[name] = _make(folder, name, make, suffix)
        print(f"{name}: {rows[name].get('reason') or 'made'}", flush=True)
        notes.write_text(json.dumps([rows[key] for key in models if key in rows], indent=1))


def _make(folder: pathlib.Path, name: str, make: Make, suffix: str) -> dict[str, str]:
    path = folder / (name + suffix)
    try:
        feeds, expected = make(path)
    except Exception as problem:  # whatever an exporter raises is the reason
        traceback.print_exc()
        text = f"{type(problem).__name__}: {problem}".strip().splitlines()[0]
        return {"name": name, "reason": text[:MAX_REASON]}
    np.savez(folder / f"{name}.feeds.npz", **{key: np.asarray(x) for key, x in feeds.items()})
    stored = folder / f"{name}.expected.npz"
    stored.unlink(missing_ok=True)
    if expected is not None:
        np.savez(stored, **{str(i): np.asarray(x) for i, x in enumerate(expected)})
    return {"name": name, "file": path.name}
