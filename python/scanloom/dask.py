"""Models over data frames of Dask.

    import dask.dataframe, scanloom.dask

    frame = dask.dataframe.read_parquet("in/")
    scored = scanloom.dask.score(frame, "model.onnx")

Needs Dask and pyarrow: pip install 'scanloom[dask]'. scanloom.batch.run(..., engine="dask") runs whole
jobs.
"""

from __future__ import annotations

from typing import Any

from ._batch.table_scorer import TableScorer

__all__ = ["score"]


def score(frame: Any, model: Any, **options: Any) -> Any:
    """Returns the frame with a column per output of the model.

    frame: a dask.dataframe, which stays lazy; or a pandas.DataFrame, as a function for `map_partitions`
        gets it.
    model: what InferenceSession takes, a session, or a Scorer.
    options: those of scanloom.ray.Scorer.

    Raises InvalidArgument at once if a column is missing, and during the computation what the scorer
    raises.
    """
    scorer = model if isinstance(model, TableScorer) else TableScorer(model, **options)
    if not hasattr(frame, "map_partitions"):
        return scorer(frame)
    scorer.check_columns(list(frame.columns))
    return frame.map_partitions(scorer, meta=scorer(frame._meta))
