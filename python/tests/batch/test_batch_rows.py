"""Rows of tables as feeds: shapes, texts, integers, and which files and options belong to a job."""

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
import pyarrow.parquet as pq  # noqa: E402

import job_files  # noqa: E402
import scanloom  # noqa: E402
from scanloom import batch  # noqa: E402
from scanloom._batch.csv_blocks import CsvFormat  # noqa: E402
from scanloom._batch.feeding import feed_plan  # noqa: E402
from scanloom._batch.formats import format_of  # noqa: E402
from scanloom._batch.command import main  # noqa: E402
from scanloom._batch.rows import Rows  # noqa: E402
from scanloom._batch.table_scorer import TableScorer  # noqa: E402
from loop_models import parse  # noqa: E402


class End:
    """An input of a model."""

    name = "x"

    def __init__(self, shape, kind="float"):
        self.shape, self.type = shape, f"tensor({kind})"


def feeds(end, *columns):
    """What rows of the columns become; the first column decides the plan."""
    tables = [pa.record_batch({"x": column}) for column in columns]
    plan = feed_plan([end], tables[0].schema, {}, {}, {})
    rows = [Rows(table, plan, {}) for table in tables]
    return [each.at(row)["x"] for each, table in zip(rows, tables) for row in range(table.num_rows)]


@pytest.mark.parametrize("steps", [0, 1, 2, 5])
@pytest.mark.parametrize("shape", [["batch", "T", 5], [1, "T", 5], ["T", "batch", 5], ["T", 1, 5], [1, "T", 1, 5]])
def test_sequences_of_any_length_get_the_axis_of_a_batch(shape, steps):
    row = np.arange(5.0 * steps).reshape(steps, 5)
    (value,) = feeds(End(shape), pa.array([row.tolist()], pa.list_(pa.list_(pa.float32()))))
    assert value.shape == tuple(steps if size == "T" else 5 if size == 5 else 1 for size in shape)
    assert np.array_equal(value.ravel(), row.ravel())


def test_lists_of_unequal_lengths_are_named():
    ragged = pa.array([[[1, 2, 3, 4, 5], [1, 2]]], pa.list_(pa.list_(pa.float32())))
    with pytest.raises(scanloom.InvalidArgument, match="^column 'x': the lists of the row have unequal lengths"):
        feeds(End([1, "T", 5]), ragged)


def test_integers_of_texts_are_exact():
    (value,) = feeds(End(["T"], "int64"), pa.array(["9007199254740993, -9223372036854775808 1e3"]))
    assert value.tolist() == [2**53 + 1, -(2**63), 1000]


@pytest.mark.parametrize("column", [pa.array(["9223372036854775808"]), pa.array([[2.0**63]])])
def test_integers_that_do_not_fit_are_named(column):
    with pytest.raises(scanloom.InvalidArgument, match="column .x.: 9.?223372[0-9e+]* does not fit int64"):
        feeds(End(["T"], "int64"), column)


def test_texts_that_are_no_integers_are_named():
    with pytest.raises(scanloom.InvalidArgument, match="column 'x': 1.5 is no integer"):
        feeds(End(["T"], "int64"), pa.array(["1 1.5"]))


@pytest.mark.parametrize("shape", [["T"], ["T", 1], ["batch", "T"]])
def test_columns_of_single_numbers_and_of_texts_feed_the_same_input(shape):
    numbers, texts = pa.array([3, 4]), pa.array(["1 2", "5"])
    for columns in ((numbers, texts), (texts, numbers)):
        values = {tuple(value.ravel().tolist()): value.ndim for value in feeds(End(shape), *columns)}
        assert values == {(3.0,): len(shape), (4.0,): len(shape), (1.0, 2.0): len(shape), (5.0,): len(shape)}


def write_model_with_default(path):
    """y = x * k + 1, where k has the default value 2."""
    path.write_bytes(
        parse(
            """g (float[T] x, float[1] k) => (float[T] y) <float[1] k = {2}> {
              one = Constant <value = float {1}> ()
              product = Mul (x, k)
              y = Add (product, one)
            }"""
        )
    )
    return str(path)


def results_of(folder):
    return [list(row) for path in sorted(folder.glob("*.parquet")) for row in pq.read_table(path)["y"].to_pylist()]


def test_a_column_feeds_an_input_with_a_default_value(tmp_path):
    model = write_model_with_default(tmp_path / "model.onnx")
    pq.write_table(pa.table({"x": [[1.0], [2.0, 3.0]], "k": [[10.0], [20.0]]}), tmp_path / "in.parquet")
    given = tmp_path / "in.parquet"
    assert batch.run(model, given, tmp_path / "fed", workers=1).rows == 2
    assert results_of(tmp_path / "fed") == [[11], [41, 61]]
    batch.run(model, given, tmp_path / "kept", workers=1, columns={"k": None})
    assert results_of(tmp_path / "kept") == [[3], [5, 7]]
    batch.run(model, given, tmp_path / "shared", workers=1, shared={"k": np.float32([100])})
    assert results_of(tmp_path / "shared") == [[101], [201, 301]]
    with pytest.raises(batch.JobChanged, match="columns"):
        batch.run(model, given, tmp_path / "fed", workers=1, columns={"k": None})
    with pytest.raises(scanloom.InvalidArgument, match="columns gives None for 'x'"):
        batch.run(model, given, tmp_path / "out", workers=1, columns={"x": None})
    with pytest.raises(scanloom.InvalidArgument, match="no column 'q' for the input 'k'"):
        batch.run(model, given, tmp_path / "out", workers=1, columns={"k": "q"})


def test_the_command_feeds_inputs_with_default_values(tmp_path, capsys):
    model = write_model_with_default(tmp_path / "model.onnx")
    (tmp_path / "0.csv").write_text("x,k\n1 2,5\n")
    arguments = ["--workers", "1", "--quiet"]
    assert main([model, f"{tmp_path}/0.csv", f"{tmp_path}/fed", *arguments]) == 0
    assert results_of(tmp_path / "fed") == [[6, 11]]
    assert main([model, f"{tmp_path}/0.csv", f"{tmp_path}/kept", *arguments, "--columns", "k="]) == 0
    assert results_of(tmp_path / "kept") == [[3, 5]]
    assert main([model, f"{tmp_path}/0.csv", f"{tmp_path}/out", *arguments, "--columns", "x="]) == 2
    assert "no column '' for the input 'x'" in capsys.readouterr().err


def test_files_agree_on_which_default_values_they_replace(tmp_path):
    model = write_model_with_default(tmp_path / "model.onnx")
    (tmp_path / "0.csv").write_text("x\n1\n")
    (tmp_path / "1.csv").write_text("x,k\n1,2\n")
    with pytest.raises(scanloom.InvalidArgument, match="1.csv', unlike the first file, has a column 'k'"):
        batch.run(model, tmp_path / "*.csv", tmp_path / "out", workers=1)
    assert batch.run(model, tmp_path / "*.csv", tmp_path / "out", workers=1, columns={"k": None}).rows == 2
    (tmp_path / "0.csv").rename(tmp_path / "2.csv")
    with pytest.raises(scanloom.InvalidArgument, match="2.csv', unlike the first file: there is no column 'k'"):
        batch.run(model, tmp_path / "*.csv", tmp_path / "other", workers=1)


def test_scorers_feed_inputs_with_default_values(tmp_path):
    scorer = TableScorer(write_model_with_default(tmp_path / "model.onnx"))
    made = scorer(pa.table({"x": [[1.0], [2.0]], "k": [[10.0], [20.0]]}))
    assert made["y"].to_pylist() == [[11], [41]]
    assert scorer(pa.table({"x": [[1.0]]}))["y"].to_pylist() == [[3]]


def test_two_spellings_of_a_path_are_one_file(tmp_path):
    model = job_files.write_model(tmp_path / "model.onnx")
    job_files.write_inputs(tmp_path / "in", files=1)
    inputs = [tmp_path / "in" / "0.parquet", f"{tmp_path}/in/../in/*.parquet"]
    assert batch.run(model, inputs, tmp_path / "out", workers=1).rows == 50


FED_TWICE = """agraph (float[batch,T] x, float[batch,1] k) => (float[batch,T] y) { y = Mul (x, k) }"""


def test_an_empty_column_of_csv_is_set_aside(tmp_path):
    (tmp_path / "0.csv").write_text("x,k\n1 2,\n3 4,\n")
    done = batch.run(parse(FED_TWICE), tmp_path / "0.csv", tmp_path / "out", workers=1, on_error="quarantine")
    assert (done.rows, done.quarantined) == (0, 2)


def test_types_that_change_after_the_first_block_of_csv(tmp_path):
    block, path = CsvFormat(",", block=40), tmp_path / "0.csv"
    path.write_text("x,k\n" + "1 2,3\n" * 10 + "1 2,0.5\n")
    _, groups = block.inspect(str(path))
    assert len(groups) > 1
    with pytest.raises(scanloom.InvalidArgument, match="0.5") as caught:
        list(block.batches(str(path), groups[-1], ["x", "k"], 10))
    assert "write a number as 1.0 in the first line" in str(caught.value)


def test_keys_are_texts_in_all_files_or_in_none(tmp_path):
    (tmp_path / "0.csv").write_text("x,k,name\n1 2,1,abc\n")
    (tmp_path / "1.csv").write_text("x,k,name\n1 2,1,007\n")
    with pytest.raises(scanloom.InvalidArgument, match="1.csv', unlike the first file, has int64 in the key column"):
        batch.run(parse(FED_TWICE), tmp_path / "*.csv", tmp_path / "out", workers=1, key="name")


def test_columns_of_one_name(tmp_path):
    (tmp_path / "0.csv").write_text("x,x,k\n1 2,1,2\n")
    with pytest.raises(scanloom.InvalidArgument, match="the tables have 2 columns 'x' for the input 'x'"):
        batch.run(parse(FED_TWICE), tmp_path / "0.csv", tmp_path / "out", workers=1)


def test_a_csv_file_without_rows_does_not_decide_the_types(tmp_path):
    model = job_files.write_model(tmp_path / "model.onnx")
    (tmp_path / "0.csv").write_text("x,k\n")
    (tmp_path / "1.csv").write_text("x,k\n0.5 1 2,1\n0.5,2\n")
    assert batch.run(model, tmp_path / "*.csv", tmp_path / "out", workers=1).rows == 2


def test_other_numerics_are_another_job(tmp_path):
    model = job_files.write_model(tmp_path / "model.onnx")
    pq.write_table(job_files.table(3, 0), tmp_path / "in.parquet")
    batch.run(model, tmp_path / "in.parquet", tmp_path / "out", workers=1)
    fast = scanloom.SessionOptions(numerics="fast")
    with pytest.raises(batch.JobChanged, match="numerics"):
        batch.run(model, tmp_path / "in.parquet", tmp_path / "out", workers=1, options=fast)


def test_an_array_that_no_column_can_hold_is_named(tmp_path):
    path = tmp_path / "in.npz"
    np.savez(path, x=np.ones((2, 3)), z=np.ones(2, complex))
    with pytest.raises(scanloom.InvalidArgument, match="in.npz' cannot be read as NPZ: 'z' holds complex128"):
        format_of(str(path)).inspect(str(path))


def test_nan_is_a_number_of_csv_and_an_empty_value_is_missing(tmp_path):
    model = write_model_with_default(tmp_path / "model.onnx")
    rows = ["1", "nan", "-NaN", "NAN", "inf", "-inf", "NA", "N/A", "NULL", '""', "2"]
    (tmp_path / "0.csv").write_text("\n".join(["name,x", *(f"{i},{row}" for i, row in enumerate(rows))]) + "\n")
    report = batch.run(model, tmp_path / "0.csv", tmp_path / "out", workers=1, key="name", on_error="quarantine")
    assert (report.rows, report.quarantined) == (7, 4)
    np.testing.assert_array_equal(
        np.ravel(results_of(tmp_path / "out")), [3, np.nan, np.nan, np.nan, np.inf, -np.inf, 5]
    )
    bad = pq.read_table(tmp_path / "out" / "_quarantine")
    assert bad["name"].to_pylist() == [6, 7, 8, 9]
    assert set(bad["error"].to_pylist()) == {"column 'x': the row has a null"}


def test_nan_is_a_number_in_every_block_of_csv(tmp_path):
    (tmp_path / "0.csv").write_text("n,x,i\n1,1.0,3\n2,2.5,4\n3,nan,nan\n4,,5\n5,-inf,6\n6,NA,NA\n")
    form = CsvFormat(",", block=8)
    _, groups = form.inspect(str(tmp_path / "0.csv"))
    assert len(groups) > 2
    found = {
        name: [str(value) for group in groups
               for each in form.batches(str(tmp_path / "0.csv"), group, ["x", "i"], 100)
               for value in each[name].to_pylist()]
        for name in ("x", "i")
    }  # fmt: skip
    assert found["x"] == ["1.0", "2.5", "nan", "None", "-inf", "None"]
    assert found["i"] == ["3", "4", "None", "5", "6", "None"]  # integers in the first block


@pytest.mark.parametrize("mistake, message", [
    ({"shared": {"k": np.float32([1, 2])}}, "^shared: input 'k'"),
    ({"shapes": {"x": [1, -1]}}, "^shapes: input 'x' has rank 1, but the feed has rank 2"),
])  # fmt: skip
def test_scorers_name_mistakes_before_the_first_table(tmp_path, mistake, message):
    with pytest.raises(scanloom.InvalidArgument, match=message):
        TableScorer(write_model_with_default(tmp_path / "model.onnx"), **mistake)
