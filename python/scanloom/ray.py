"""Models in pipelines of Ray.

    import ray, scanloom.ray

    frames = ray.data.read_parquet("in/")
    scored = frames.map_batches(scanloom.ray.Scorer("model.onnx"), batch_format="pyarrow")

Needs Ray and pyarrow: pip install 'scanloom[ray]'. scanloom.batch.run(..., engine="ray") runs whole jobs.
"""

from ._batch.table_scorer import TableScorer


class Scorer(TableScorer):
    """A model for `map_batches`: adds a column per output to every batch.

    model: what InferenceSession takes, or a session. It is sent to the workers, each of which loads it
        once per process.
    columns, output_names, shared, shapes, threads, batch, by_length, memory, options: as for
        scanloom.batch.run().
    on_error: "raise"; or "null", by which rows that fail have null results and a text in the column
        `error`.

    A call takes a batch in any of Ray's formats ("pyarrow", "numpy", "pandas") and returns the same
    kind. Raises VersionMismatch on a worker with other versions, InvalidArgument, and what a run raises.
    """


__all__ = ["Scorer"]
