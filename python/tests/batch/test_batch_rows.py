"""Rows of tables as feeds: shapes, texts, integers, and which files and options belong to a job."""

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
import pyarrow.parquet as pq  # noqa: E402

import job_files  # noqa: E402
import scanloom  # noqa: E402
from scanloom import batch  # noqa: E402
from scanloom._batch.feeding import feed_plan  # noqa: E402
from scanloom._batch.formats import format_of  # noqa: E402
from scanloom._batch.rows import Rows  # noqa: E402


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


def test_two_spellings_of_a_path_are_one_file(tmp_path):
    model = job_files.write_model(tmp_path / "model.onnx")
    job_files.write_inputs(tmp_path / "in", files=1)
    inputs = [tmp_path / "in" / "0.parquet", f"{tmp_path}/in/../in/*.parquet"]
    assert batch.run(model, inputs, tmp_path / "out", workers=1).rows == 50


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
