"""Runs a model over the rows of files, on one machine or many.

    import scanloom.batch

    report = scanloom.batch.run("model.onnx", "in/*.parquet", "out/")
    print(report)

Needs pyarrow: pip install 'scanloom[batch]'.
"""

try:
    import pyarrow as _pyarrow  # type: ignore[import-untyped,import-not-found,unused-ignore]  # noqa: F401
except ImportError as _error:
    raise ImportError(f"scanloom.batch needs pyarrow: pip install 'scanloom[batch]' ({_error})") from None

from ._batch.problems import JobChanged, JobFailed, JobLocked, VersionMismatch
from ._batch.progress import Progress
from ._batch.results import arrays
from ._batch.run import Report, run

__all__ = ["JobChanged", "JobFailed", "JobLocked", "Progress", "Report", "VersionMismatch", "arrays", "run"]
