"""Describes the machine of a measurement. Ratios are portable; absolute times are not."""

import datetime
import os
import pathlib
import platform
import subprocess

import numpy
import onnxruntime

import native
import peers
import scanloom

_FEATURES = ("sse4_2", "avx", "avx2", "fma", "avx512f", "avx512bw", "avx512_vnni", "amx_tile",
             "asimd", "sve", "sve2")


def describe() -> dict[str, object]:
    """The CPU, its instruction sets, cores, caches and load, and the versions of the engines."""
    fields = _cpu_fields()
    flags = fields.get("flags", fields.get("Features", "")).split()
    return {
        "cpu": fields.get("model name", platform.processor() or platform.machine()),
        "family": fields.get("cpu family", ""),
        "isa": [name for name in _FEATURES if name in flags],
        "isa_mask": os.environ.get("SCANLOOM_ISA", ""),
        "cores": len(os.sched_getaffinity(0)),
        "l2": _read("/sys/devices/system/cpu/cpu0/cache/index2/size"),
        "load": round(os.getloadavg()[0], 2),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "date": datetime.date.today().isoformat(),
        "compiler": _first_line([native.compiler(), "--version"]),
        "versions": {
            "scanloom": scanloom.__version__,
            "onnxruntime": onnxruntime.__version__,
            "numpy": numpy.__version__,
            "python": platform.python_version(),
            **peers.versions(),
        },
    }


def summary(machine: dict[str, object]) -> str:
    versions = ", ".join(f"{name} {text}" for name, text in machine["versions"].items())
    return (
        f"{machine['cpu']} (family {machine['family']}), {machine['cores']} cores, "
        f"{' '.join(machine['isa'])}\n{versions}\n{machine['compiler']}\n"
        f"{machine['date']}, load average {machine['load']}"
    )


def _cpu_fields() -> dict[str, str]:
    fields = {}
    for line in _read("/proc/cpuinfo").splitlines():
        name, _, text = line.partition(":")
        fields.setdefault(name.strip(), text.strip())
    return fields


def _read(path: str) -> str:
    try:
        return pathlib.Path(path).read_text().strip()
    except OSError:
        return ""


def _first_line(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True).stdout.splitlines()[0]
