#!/usr/bin/env python3
"""Checks #include lines against the table of layers in ARCHITECTURE.md."""

import dataclasses
import pathlib
import re
import sys

import source_tree


@dataclasses.dataclass(frozen=True)
class Layer:
    """The includes that a folder may have: folders of src/, public headers, and third-party
    libraries."""

    folders: tuple[str, ...] = ()
    public: str = "values"  # none, values (VALUE_HEADERS), all
    third_party: tuple[str, ...] = ()
    posix: bool = False


# The public headers with types that the library and its users share.
VALUE_HEADERS = {"api.h", "codes.inc", "dtype.h", "dtypes.inc", "error.h", "expected.h",
                 "nearest_name.h", "shell_word.h", "value.h"}

_OPERATORS = ("base", "tensor", "opmath", "ir", "ops")

LAYERS = {
    "include": Layer(public="all"),
    "src/base": Layer(third_party=("fmt",), posix=True),
    "src/tensor": Layer(("base",), third_party=("fmt",)),
    "src/opmath": Layer(("base", "tensor"), third_party=("fmt",)),
    "src/ir": Layer(("base", "tensor"), third_party=("fmt",)),
    "src/loopnest": Layer(("base", "tensor"), third_party=("fmt",)),
    "src/kernels": Layer(("base", "tensor", "opmath"), third_party=("Highway",), posix=True),
    "src/images": Layer(("base",), third_party=("libpng", "libjpeg-turbo", "libtiff", "libwebp", "OpenJPEG")),
    "src/ops": Layer(("base", "tensor", "opmath", "ir"), third_party=("RE2",)),
    "src/frontends/onnx": Layer(_OPERATORS, third_party=("protozero",)),
    "src/frontends/openvino": Layer(_OPERATORS, third_party=("pugixml",)),
    "src/expr": Layer(_OPERATORS, public="all"),
    "src/grad": Layer((*_OPERATORS, "expr"), public="all"),
    "src/exporters": Layer(("base", "tensor")),
    "src/exporters/onnx": Layer(_OPERATORS, third_party=("protozero",)),
    "src/exporters/openvino": Layer(_OPERATORS, third_party=("pugixml",)),
    "src/interp": Layer(_OPERATORS),
    "src/passes": Layer(_OPERATORS),
    "src/jit": Layer(("base", "tensor", "loopnest"), third_party=("LLVM",)),
    "src/plan": Layer((*_OPERATORS, "kernels", "loopnest"), third_party=("fmt",)),
    "src/runtime": Layer(("base", "tensor", "opmath", "kernels", "plan"), posix=True),
    "src/report": Layer(
        (*_OPERATORS, "plan"), public="all", third_party=("fmt", "nlohmann-json"),
    ),
    "src/api": Layer(
        (*_OPERATORS, "kernels", "frontends", "exporters", "interp", "passes", "expr", "grad", "plan",
         "report", "runtime"),
        public="all", posix=True,
    ),
    "tools/scanloom": Layer(
        public="all", third_party=("CLI11", "nlohmann-json", "zlib"), posix=True
    ),
    "python": Layer(public="all", third_party=("nanobind", "Python")),
    "examples": Layer(public="all", posix=True),
    "bench": Layer(public="all", third_party=("Google Benchmark",), posix=True),
}

# Headers that a folder may include beyond its row. The loop compiler is a plug-in that is known
# only through its interface, and exporters share their options.
OPEN_HEADERS = {
    ("src/plan", "jit/interface.h"),
    ("src/api", "jit/interface.h"),
    ("src/api", "images/interface.h"),
    ("src/ops", "images/interface.h"),
    ("src/exporters/onnx", "exporters/write_options.h"),
    ("src/exporters/openvino", "exporters/write_options.h"),
}

THIRD_PARTY = {
    "fmt/": "fmt",
    "hwy/": "Highway",
    "protozero/": "protozero",
    "re2/": "RE2",
    "pugixml.hpp": "pugixml",
    "llvm/": "LLVM",
    "llvm-c/": "LLVM",
    "CLI/": "CLI11",
    "nlohmann/": "nlohmann-json",
    "zlib.h": "zlib",
    "jpeglib.h": "libjpeg-turbo",
    "openjpeg.h": "OpenJPEG",
    "png.h": "libpng",
    "tiffio.h": "libtiff",
    "webp/": "libwebp",
    "nanobind/": "nanobind",
    "Python.h": "Python",
    "gtest/": "GoogleTest",
    "gmock/": "GoogleTest",
    "benchmark/": "Google Benchmark",
}

# System and compiler headers outside the standard library.
POSIX = re.compile(
    r"(sys/|linux/)\w+\.h|(dlfcn|fcntl|malloc|unistd|pthread|sched|signal|poll|termios|cpuid"
    r"|x86intrin|\w*mmintrin|arm_neon|fenv|features)\.h"
)

# C's names of the standard library, for C files and the one header that is also C.
C_LIBRARY = re.compile(
    r"(assert|ctype|errno|float|inttypes|limits|math|signal|stdbool|stddef|stdint|stdio|stdlib"
    r"|string|time)\.h"
)
C_HEADERS = {pathlib.Path("include/scanloom/scanloom.h")}

_INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)


def layer_of(path: pathlib.PurePath) -> str | None:
    """The longest prefix of path that has a row; None outside the table (for example in tests)."""
    for parent in path.parents:
        if parent.as_posix() in LAYERS:
            return parent.as_posix()
    return None


def target_of(root: pathlib.Path, path: pathlib.Path, name: str) -> str | None:
    """The project file that an include names, relative to root, or None if it is not ours."""
    candidates = [path.parent / name, pathlib.Path("src") / name, pathlib.Path("include") / name]
    candidates.append(pathlib.Path("bench") / name)
    for candidate in candidates:
        if (root / candidate).is_file():
            parts: list[str] = []
            for part in candidate.parts:
                parts = parts[:-1] if part == ".." and parts else [*parts, part]
            return "/".join(parts)
    return None


def reason_against(home: str, layer: Layer, target: str | None, name: str, quoted: bool):
    """The reason why a file of the folder `home` may not include `name`, or None if it may."""
    if target is not None:
        return reason_against_ours(home, layer, target)
    if quoted:
        return "there is no such file"
    for prefix, third_party in THIRD_PARTY.items():
        if name.startswith(prefix):
            allowed = third_party in layer.third_party
            return None if allowed else f"{home} may not use {third_party}"
    if POSIX.fullmatch(name):
        return None if layer.posix else f"{home} may not use headers of the system"
    if re.fullmatch(r"[a-z_0-9]+", name):
        return None
    return "neither the standard library's, nor ours, nor in the table of check_layers.py"


def reason_against_ours(home: str, layer: Layer, target: str) -> str | None:
    if target.startswith("include/scanloom/"):
        header = target.removeprefix("include/scanloom/")
        if layer.public == "all" or (layer.public == "values" and header in VALUE_HEADERS):
            return None
        return f"{home} may include of the public headers only {', '.join(sorted(VALUE_HEADERS))}"
    if target.startswith(home + "/"):
        return None
    if target.startswith("src/"):
        folder = target.removeprefix("src/")
        if (home, folder) in OPEN_HEADERS:
            return None
        if any(folder.startswith(allowed + "/") for allowed in layer.folders):
            return None
        allowed = ", ".join(layer.folders) if layer.folders else "no folder of src"
        return f"{home} may include {allowed}"
    return f"{home} may not include {target}"


def check_file(root: pathlib.Path, path: pathlib.Path) -> list[str]:
    home = layer_of(path)
    if home is None:
        if path.parts[0] in ("src", "include"):
            return [f"{path}: this folder has no row in the table of check_layers.py"]
        return []
    text = (root / path).read_text(encoding="utf-8", errors="replace")
    problems = []
    includes = list(_INCLUDE.finditer(text))
    for match in includes:
        quoted, name = match[1] == '"', match[2]
        if (path.suffix == ".c" or path in C_HEADERS) and C_LIBRARY.fullmatch(name):
            continue
        target = target_of(root, path, name)
        reason = reason_against(home, LAYERS[home], target, name, quoted)
        if reason:
            line = text.count("\n", 0, match.start(2)) + 1
            problems.append(f"{path}:{line}: includes {name}: {reason}")
    return problems + check_own_header(root, path, [match[2] for match in includes])


def check_own_header(root: pathlib.Path, path: pathlib.Path, names: list[str]) -> list[str]:
    """A .cpp with a header of the same name includes it first, so that the header is
    self-contained."""
    own = path.with_suffix(".h")
    if path.parts[0] != "src" or path.suffix != ".cpp" or not (root / own).is_file():
        return []
    if names and target_of(root, path, names[0]) == own.as_posix():
        return []
    return [f"{path}:1: its own header {own.name} is not the first include"]


def main() -> int:
    options = source_tree.argument_parser(__doc__).parse_args()
    folders = ("include", "src", "tools", "python", "examples", "bench")
    paths = source_tree.sources(options.root, folders, source_tree.CXX_SUFFIXES)
    problems = [problem for path in paths for problem in check_file(options.root, path)]
    return source_tree.report("layers", problems, f"{len(paths)} files")


if __name__ == "__main__":
    sys.exit(main())
