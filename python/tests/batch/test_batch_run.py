"""Jobs on the local engine: results, keys, formats, and starting again."""

import json
import os
import re
import signal
import subprocess
import sys

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
import pyarrow.csv as csv  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402

import job_files  # noqa: E402
import scanloom  # noqa: E402
from loop_models import parse  # noqa: E402
from places import PROJECT  # noqa: E402
from scanloom import batch  # noqa: E402


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return job_files.write_model(tmp_path_factory.mktemp("model") / "model.onnx")


@pytest.fixture(scope="module")
def session(model):
    return scanloom.InferenceSession(model)


@pytest.fixture
def job(model, tmp_path):
    """Runs a job over two files of 50 rows, in 6 shards, with one worker."""
    inputs = job_files.write_inputs(tmp_path / "in")

    def run(outputs="out", **options):
        return batch.run(model, inputs, tmp_path / outputs, **{"workers": 1, **options})

    return run


def expected(session, table):
    rows = zip(table["x"].to_pylist(), table["k"].to_pylist())
    return [session.run(None, {"x": np.array(x, np.float32), "k": np.int64(k)}) for x, k in rows]


def same(session, table, source):
    """Whether a table of results has the bits of the model run row by row."""
    wanted = expected(session, source)
    ys, lasts = batch.arrays(table, "y"), batch.arrays(table, "last")
    return len(ys) == len(wanted) and all(
        y.tobytes() == one[0].tobytes() and last.tobytes() == one[1].tobytes()
        for y, last, one in zip(ys, lasts, wanted)
    )


def test_every_row_has_the_bits_that_it_has_alone(job, session, tmp_path):
    report = job()
    assert (report.shards, report.resumed, report.rows, report.quarantined) == (6, 0, 100, 0)
    table = pq.read_table(tmp_path / "out")
    assert table.column_names == ["file", "row", "y", "last"]
    assert table["row"].to_pylist() == [*range(50), *range(50)]
    assert table["file"].to_pylist()[50].endswith("1.parquet")
    assert same(session, table.slice(0, 50), job_files.table(50, 0))
    assert same(session, table.slice(50), job_files.table(50, 1))


def test_workers_memory_and_batches_do_not_change_a_byte(job, tmp_path):
    job("one")
    job("two", workers=2, memory="2GB", batch=3, by_length=False, threads=2)
    assert job_files.digests(tmp_path / "one") == job_files.digests(tmp_path / "two")


def test_keys_and_outputs_are_chosen(job, tmp_path):
    job(key="name", output_names=["last"])
    table = pq.read_table(tmp_path / "out")
    assert table.column_names == ["name", "last"] and table["name"][3].as_py() == "row 0.3"


def test_a_complete_job_is_not_run_again(job, tmp_path):
    job()
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").glob("*.parquet")}
    assert job().resumed == 6
    assert before == {path: path.stat().st_mtime_ns for path in (tmp_path / "out").glob("*.parquet")}


def test_shards_that_are_missing_are_computed(job, tmp_path):
    job()
    files = job_files.digests(tmp_path / "out")
    (tmp_path / "out" / "part-00001-00001.parquet").unlink()
    manifest = tmp_path / "out" / "_scanloom" / "manifest.jsonl"
    lines = manifest.read_bytes().splitlines(keepends=True)
    manifest.write_bytes(b"".join(lines[:3]) + lines[3][:20])  # a line that was being written
    assert job().resumed == 2
    assert job_files.digests(tmp_path / "out") == files
    assert [json.loads(line) for line in manifest.read_bytes().splitlines()][-1] == {"complete": True}


def test_other_arguments_are_another_job(job, tmp_path):
    job()
    with pytest.raises(batch.JobChanged, match=r"another job: outputs was \['y', 'last'\] and is \['y'\]"):
        job(output_names=["y"])
    changed = tmp_path / "in" / "0.parquet"
    size, modified = changed.stat().st_size, changed.stat().st_mtime_ns
    for nanoseconds in (modified + 10**10, modified ^ 1, 0):
        os.utime(changed, ns=(0, nanoseconds))
        with pytest.raises(batch.JobChanged) as caught:
            job()
        assert f"0.parquet' has changed since the job began (it has {size} bytes as before, but was modified " in str(
            caught.value
        )
    pq.write_table(job_files.table(5, 7), changed)
    with pytest.raises(batch.JobChanged, match=rf"began \({size} bytes before, {changed.stat().st_size} now\)"):
        job()


def test_inputs_that_are_missing_or_new(job, model, tmp_path):
    job()
    pq.write_table(job_files.table(5, 7), tmp_path / "in" / "2.parquet")
    with pytest.raises(batch.JobChanged, match="2.parquet' is no part of the job"):
        job()
    (tmp_path / "in" / "2.parquet").unlink()
    (tmp_path / "in" / "1.parquet").unlink()
    with pytest.raises(batch.JobChanged, match="1.parquet' of the job in '.*' is missing"):
        job()
    with pytest.raises(scanloom.NotFound, match="nothere.parquet' does not exist"):
        batch.run(model, "nothere.parquet", tmp_path / "new")
    with pytest.raises(scanloom.NotFound, match=r"none/\*.parquet' matches no file"):
        batch.run(model, "none/*.parquet", tmp_path / "new")


def test_a_folder_with_other_files_is_refused(job, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("mine")
    with pytest.raises(batch.JobChanged, match="holds 'thesis.txt' and no job"):
        job()
    assert os.listdir(tmp_path / "out") == ["thesis.txt"]


def test_a_folder_of_outputs_that_is_a_file(job, tmp_path):
    (tmp_path / "out").write_text("mine")
    with pytest.raises(scanloom.InvalidArgument, match="out' is a file, but the outputs need a folder"):
        job()
    with pytest.raises(scanloom.FileNotWritten, match="out/deep' cannot be written: Not a directory"):
        job("out/deep")


def test_all_files_must_have_the_columns(job, model, tmp_path):
    narrow = job_files.table(5, 7).drop(["k"])
    pq.write_table(narrow, tmp_path / "in" / "2.parquet")
    with pytest.raises(scanloom.InvalidArgument, match="2.parquet', unlike the first file: there is no column 'k'"):
        job()
    with pytest.raises(scanloom.InvalidArgument, match="lacks the key column 'k'"):
        job(key="k", shared={"k": np.int64(1)})
    assert not (tmp_path / "out").exists()


def test_files_without_rows(model, session, tmp_path):
    """Such files often have columns without types."""
    empty = pa.table({name: pa.array([], pa.null()) for name in ("name", "x", "k")})
    for number, content in enumerate([empty, job_files.table(5, 7), empty]):
        pq.write_table(content, tmp_path / f"{number}.parquet")
    report = batch.run(model, tmp_path / "?.parquet", tmp_path / "out", key="name", workers=1)
    assert (report.shards, report.rows) == (1, 5)
    assert same(session, pq.read_table(tmp_path / "out"), job_files.table(5, 7))


def test_a_second_driver_is_refused(job, tmp_path):
    def again(at):
        with pytest.raises(batch.JobLocked, match=f"process {os.getpid()} on .*, since"):
            job()

    job(progress=again)
    assert job().resumed == 6


def test_drivers_that_start_at_once(model, job, tmp_path):
    """One of them does the job; the others are refused, or find it complete."""
    inputs = f"{tmp_path}/in/*.parquet"
    line = [sys.executable, "-m", "scanloom", "batch", model, inputs, str(tmp_path / "out"), "--workers", "1"]
    drivers = [subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    answers = [driver.communicate(timeout=300) for driver in drivers]
    assert any(driver.returncode == 0 for driver in drivers), answers
    for driver, (out, err) in zip(drivers, answers):
        assert driver.returncode == 0 or "error: another driver works on" in err, err
        assert driver.returncode or out.startswith("100 rows in 6 shards"), out
    job("alone")
    assert job_files.digests(tmp_path / "out") == job_files.digests(tmp_path / "alone")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": {"z": "x"}}, "columns names 'z', which is not an input"),
        ({"columns": ["x"]}, "columns is a list, but must be a dictionary by inputs"),
        ({"columns": {"x": "nam"}}, "no column 'nam' for the input 'x'; did you mean 'name'"),
        ({"columns": {"x": "name"}, "on_error": "raise"}, r"with file '.*0.parquet', row 0 fails: column 'name'"),
        ({"key": "nome"}, "key names the column 'nome', which the inputs lack"),
        ({"output_names": ["z"]}, "the model has no output 'z'"),
        ({"engine": "spark"}, "engine is 'spark', but must be one of local, ray, dask"),
        ({"address": "here"}, "the local engine has none"),
        ({"memory": "lots"}, "memory is 'lots'"),
        ({"memory": f"{'9' * 400} TB"}, "memory is 1000*, but must be 1 to"),
        ({"memory": "10 MB"}, "the limit of 10 MB is too small: a worker takes .* MB before its first row"),
        ({"on_error": "ignore"}, "must be 'raise' or 'quarantine'"),
        ({"workers": 0}, "workers is 0"),
        ({"retries": -1}, "retries is -1"),
        ({"progress": 3}, "progress is 3"),
        ({"batch": 5000}, "batch is 5000, but must be 1 to 4096"),
        ({"columns": {"x": 3}}, "columns gives 3 for 'x', but must give the name of a column"),
        ({"shapes": {"x": [-1, -1]}}, "at most one size may be -1"),
        ({"shapes": {"x": [-2]}}, "a size of 'x' in shapes is -2, but must be -1 to"),
        ({"shapes": {"x": 4}}, "shapes gives 4 for 'x', but must give a list of sizes"),
        ({"shapes": {"x": [1, -1]}}, "^shapes: input 'x' has rank 1, but the feed has rank 2"),
        ({"shapes": {"k": [2]}}, "^shapes: input 'k' has rank 0, but the feed has rank 1"),
        ({"shared": {"k": np.float32(1)}}, "^shared: input 'k' is int64, the feed is float"),
        ({"shared": {"k": np.int64([1, 2])}}, "^shared: input 'k' has rank 0, but the feed has rank 1"),
        ({"shared": {"k": "one"}}, "^shared: "),
        ({"options": {"threads": 2}}, "^options is a dict, but must be a scanloom.SessionOptions"),
    ],
)
def test_mistakes(job, options, message):
    with pytest.raises(scanloom.Error, match=message):
        job(**options)


def test_a_float64_column_and_feeds_for_all_rows(model, session, tmp_path):
    source = job_files.table(9, 3)
    wide = pa.table({"x": source["x"].cast(pa.large_list(pa.float64()))})
    pq.write_table(wide, tmp_path / "wide.parquet")
    batch.run(model, tmp_path / "wide.parquet", tmp_path / "out", shared={"k": np.int64(1)}, workers=1)
    ones = source.set_column(2, "k", pa.array([1] * 9))
    assert same(session, pq.read_table(tmp_path / "out"), ones)


def test_arrow_csv_and_npz_give_the_rows_of_parquet(model, session, tmp_path):
    source = job_files.table(30, 4)
    xs = [np.array(x, np.float32) for x in source["x"].to_pylist()]
    with pa.OSFile(str(tmp_path / "a.arrow"), "wb") as file, pa.ipc.new_file(file, source.schema) as writer:
        writer.write_table(source, max_chunksize=8)
    texts = [" ".join(repr(float(v)) for v in x) for x in xs]
    csv.write_csv(pa.table({"x": texts, "k": source["k"]}), tmp_path / "b.csv")
    np.savez(tmp_path / "c.npz", **{"x": np.concatenate(xs), "x.lengths": [len(x) for x in xs], "k": source["k"]})
    for name in ("a.arrow", "b.csv", "c.npz"):
        report = batch.run(model, tmp_path / name, tmp_path / f"out {name}", workers=1)
        table = pq.read_table(tmp_path / f"out {name}")
        assert report.rows == 30 and table["row"].to_pylist() == list(range(30)), name
        assert same(session, table, source), name


def test_an_interrupt_keeps_what_is_complete(job, tmp_path):
    def interrupt(at):
        if at.shards == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        job(progress=interrupt)
    assert job().resumed == 3


def test_workers_end_with_a_driver_that_is_killed(model, tmp_path):
    inputs = job_files.write_inputs(tmp_path / "in", longest=20_000)
    program = ("import sys, scanloom.batch\n"
               "scanloom.batch.run(*sys.argv[1:], workers=2, progress=lambda at: print('shard', flush=True))")
    command = [sys.executable, "-c", program, model, inputs, str(tmp_path / "out")]
    driver = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert driver.stdout.readline() == "shard\n"
    driver.send_signal(signal.SIGKILL)
    driver.wait(10)
    assert driver.stdout.read() in ("", *("shard\n" * n for n in range(6)))  # ends when no worker has the pipe
    assert batch.run(model, inputs, tmp_path / "out", workers=1).resumed >= 1


def command(*arguments, folder):
    return subprocess.run([sys.executable, "-m", "scanloom", "batch", *map(str, arguments)], cwd=folder,
                          capture_output=True, text=True)  # fmt: skip


def test_the_command(model, tmp_path):
    job_files.write_inputs(tmp_path / "in")
    answer = command(model, "in/0.parquet", "in/1.parquet", "out", "--key", "name", "--workers", 1, folder=tmp_path)
    assert answer.returncode == 0 and answer.stderr == "", answer.stderr
    assert answer.stdout.startswith("100 rows in 6 shards, in '")
    assert pq.read_table(tmp_path / "out").column_names == ["name", "y", "last"]
    for arguments, message in [
        ([model, "in/0.parquet"], "error: the folder of the outputs is missing after 'in/0.parquet'\n"),
        ([model, "in/0.parquet", "o", "--columns", "x"], "error: --columns is 'x', but must be INPUT=VALUE\n"),
        ([model, "in/0.parquet", "o", "--shape", "x=a"], "error: --shape gives 'a' for 'x'"),
        ([model, "in/0.parquet", "in/1.parquet"], "error: '.*/in/1.parquet' is a file, but the outputs need a folder"),
        ([model, "no.parquet", "o"], "error: the input 'no.parquet' does not exist\n"),
        ([model, "in/0.parquet", "out"], "error: '.*/out' belongs to another job: key was"),
        ([model, "in/0.parquet", "new", "--columns", "x=n", "--columns", "k=k"], "error: the tables have no column 'n'"),
        (["--wrong"], "error: the following arguments are required"),
    ]:
        answer = command(*arguments, folder=tmp_path)
        assert answer.returncode == 2 and re.match(message, answer.stderr), answer.stderr


def test_the_command_names_its_options(model, tmp_path):
    job_files.write_inputs(tmp_path / "in")
    for arguments, message in [
        (["--columns", "z=x"], "--columns names 'z', which is not an input of the model"),
        (["--columns", "x=n"], "the tables have no column 'n' (.*\n)*  note: write --columns x=COLUMN\n"),
        (["--columns", "x=name"], "in/0.*fails: (.*\n)*  note: --on-error quarantine sets such rows aside\n"),
        (["--shape", "x=-1,-1"], r"--shape gives \[-1, -1\] for 'x': at most one size may be -1"),
        (["--shape", "x=-2"], "a size of 'x' in --shape is -2, but must be"),
        (["--key", "nome"], "--key names the column 'nome', which the inputs lack"),
        (["--engine", "spark"], "--engine is 'spark', but must be one of"),
        (["--address", "here"], "--address is 'here', but the local engine has none"),
        (["--memory", "lots"], "--memory is 'lots', but must be"),
        (["--on-error", "ignore"], "--on-error is 'ignore', but must be"),
        (["--batch", "5000"], "--batch is 5000, but must be 1 to 4096"),
        (["--workers", "0"], "--workers is 0, but must be"),
        (["--threads", "0"], "--threads is 0, but must be"),
        (["--retries", "-1"], "--retries is -1, but must be"),
    ]:
        answer = command(model, "in/0.parquet", "out", *arguments, folder=tmp_path)
        assert answer.returncode == 2 and re.search(message, answer.stderr), answer.stderr
        assert not re.search(r"(columns|shapes|on_error)=|`", answer.stderr), answer.stderr


def test_the_command_names_no_options_of_sessions(tmp_path):
    job_files.write_inputs(tmp_path / "in")
    (tmp_path / "newer.onnx").write_bytes(parse(job_files.FILTER, opset=999))
    answer = command("newer.onnx", "in/0.parquet", "out", folder=tmp_path)
    assert answer.returncode == 2
    assert "note: the option --lenient of 'scanloom convert', which writes another model, " in answer.stderr


def test_the_help_of_the_command(tmp_path):
    answer = command("--help", folder=tmp_path)
    assert answer.returncode == 0
    assert answer.stdout.startswith("usage: scanloom batch [OPTION...] MODEL INPUT... OUTPUTS\n")
    assert "\nexample:\n  scanloom batch model.onnx in/*.parquet out/ --columns" in answer.stdout


def test_the_package_does_not_load_jobs():
    program = "import sys, scanloom; print([m for m in sys.modules if 'batch' in m or m == 'pyarrow'])"
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=PROJECT)
    assert answer.stdout == "[]\n", answer.stderr
