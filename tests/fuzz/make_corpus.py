#!/usr/bin/env python3
"""Writes tests/fuzz/corpus and tests/fuzz/corpus_openvino, small models of every kind of field,
operator and body that the tests know, and next to them dictionaries of words in files: the names of
all operators and attributes of ONNX, and those of OpenVINO that can be read.

Files found by the fuzzer are stored in the same folders under names that begin with found_."""

import pathlib
import random
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python" / "tests"), str(ROOT / "python" / "tests" / "openvino")]

import onnx  # noqa: E402

import classical_models  # noqa: E402
import hostile_bytes  # noqa: E402
import hostile_run  # noqa: E402
import loop_models  # noqa: E402
import programs_as_onnx  # noqa: E402
import scan_models  # noqa: E402
import test_openvino_hostile  # noqa: E402
from random_loops import ProgramMaker  # noqa: E402
from random_programs import Source  # noqa: E402

CORPUS = ROOT / "tests" / "fuzz" / "corpus"
OPENVINO = CORPUS.with_name("corpus_openvino")
OPERATIONS = ROOT / "src" / "frontends" / "openvino" / "list.inc"
LARGEST = 3000
PROGRAMS = 24


def models() -> dict[str, bytes]:
    made = {"rich": hostile_bytes.rich_model()}
    for case in loop_models.cases()[::3]:
        made[f"loop_{case.name}"] = case.model
    for opset, kind in list(scan_models.pairs((8, 9, 11, 16, 21, 25)))[::7]:
        form = scan_models.batched_forms()[20] if opset == 8 else scan_models.forms()[2000 + opset]
        made[f"scan_{kind.name}_{opset}"] = scan_models.model(form, kind, opset, opset == 8)
    for name, case in list(classical_models.all_models().items())[::17]:
        made[f"classical_{name}"] = case.data
    source = random.Random(9)
    for index in range(PROGRAMS):
        program = ProgramMaker(Source(source.randbytes(120))).program()
        made[f"program_{index:02}"] = programs_as_onnx.write(program)
    for case in hostile_run.graph_cases():
        model = None if case.name.startswith("external") else case.make(None)
        if isinstance(model, bytes):
            made[f"hostile_{case.name}"] = model
    return {name: model for name, model in made.items() if len(model) <= LARGEST}


def dictionary() -> str:
    schemas = [schema for schema in onnx.defs.get_all_schemas() if schema.domain in ("", "ai.onnx.ml")]
    attributes = sorted({name for schema in schemas for name in schema.attributes})
    # A tag and a length precede each word: NodeProto.op_type, AttributeProto.name.
    words = [(0x22, schema.name) for schema in schemas] + [(0x0A, name) for name in attributes]
    return "".join(f'"\\x{tag:02x}\\x{len(name):02x}{name}"\n' for tag, name in sorted(set(words)))


def openvino_models() -> dict[str, bytes]:
    made = {name: make()[0] for name, (make, _) in test_openvino_hostile.CASES.items()}
    made["simple"] = test_openvino_hostile.simple().xml()
    for index, entry in enumerate(({}, {"start": -1, "end": 0, "stride": -1}, {"stride": 2, "part_size": 2})):
        made[f"iterator_{index}"] = test_openvino_hostile.iterator(**entry).xml()
    return {name: model for name, model in made.items() if len(model) <= 2 * LARGEST}


def openvino_dictionary() -> str:
    operations = re.findall(r"^SCANLOOM_OPENVINO\((\w+)", OPERATIONS.read_text(), re.M)
    words = set(re.findall(rb"[\w-]+=|<\w+|</\w+>", b"".join(openvino_models().values())))
    words |= {name.encode() for name in operations}
    return "".join(f'"{word.decode()}"\n' for word in sorted(words))


def write(folder: pathlib.Path, models: dict[str, bytes]) -> None:
    folder.mkdir(exist_ok=True)
    for path in folder.glob("*"):
        if not path.name.startswith("found_"):
            path.unlink()
    for name, model in models.items():
        (folder / name).write_bytes(model)
    sizes = [path.stat().st_size for path in folder.iterdir()]
    print(f"{folder.name}: {len(sizes)} files, {sum(sizes)} bytes")


def main() -> None:
    CORPUS.with_name("onnx.dict").write_text(dictionary())
    CORPUS.with_name("openvino.dict").write_text(openvino_dictionary())
    write(CORPUS, models())
    write(OPENVINO, openvino_models())


if __name__ == "__main__":
    main()
