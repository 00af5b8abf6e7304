"""Errors of jobs, and failures on their way from a worker to the driver."""

from __future__ import annotations

import errno
from typing import NamedTuple, Union

from .. import _errors
from .._errors import Error
from .spelling import given


class JobFailed(Error):
    """A job stopped. What it has finished is kept: starting it again continues."""

    code = "job_failed"


class JobLocked(JobFailed):
    """Another driver works on the folder of the outputs."""

    code = "job_locked"


class JobChanged(JobFailed):
    """The folder of the outputs belongs to another job, or an input has changed since it began."""

    code = "job_changed"


class VersionMismatch(JobFailed):
    """A worker has other versions of the packages than the driver."""

    code = "version_mismatch"


class _RowFailed(JobFailed):
    """A row failed in a worker; the driver, which knows how the job was started, raises a JobFailed that
    says what helps."""


class Failure(NamedTuple):
    """An error of a shard as plain data, which any engine can transport."""

    code: str
    text: str
    notes: tuple[str, ...] = ()
    is_transient: bool = False  # worth a retry: an error of a disk or a network
    is_of_row: bool = False


# What a retry cannot cure.
_LASTING = frozenset(
    [errno.ENOSPC, errno.EDQUOT, errno.ENOENT, errno.EACCES, errno.EPERM, errno.EROFS, errno.EISDIR]
    + [errno.ENOTDIR, errno.ENAMETOOLONG, errno.EFBIG]
)
_CLASSES = {kind.code: kind for kind in (JobFailed, JobLocked, JobChanged, VersionMismatch)}
AGAIN = "start the job again when this is solved: it continues with what is missing"


def failure_of(error: BaseException, where: str) -> Failure:
    """Describes an exception that a worker met in a shard."""
    if isinstance(error, Error):
        return Failure(error.code, f"{where}: {error.text}", error.notes, is_of_row=isinstance(error, _RowFailed))
    if isinstance(error, OSError):
        text = f"{where}: {error.strerror or error}"
        if error.filename and str(error.filename) not in text:
            text += f": '{error.filename}'"
        notes = (AGAIN,)
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            notes = ("free some space, then start the job again: it continues with what is missing",)
        is_transient = error.errno is not None and error.errno not in _LASTING
        return Failure("job_failed", text, notes, is_transient)
    return Failure("job_failed", f"{where}: {type(error).__name__}: {error}", (AGAIN,))


def error_of(failure: Failure) -> Error:
    """Makes the exception that the driver raises."""
    kind: Union[type[Error], None] = _CLASSES.get(failure.code) or _errors._CLASSES.get(failure.code)
    notes = failure.notes
    if failure.is_of_row:
        notes = (*notes, f"{given('on_error', 'quarantine')} sets such rows aside")
    return (kind or JobFailed)(failure.text, notes)


def engine_failure(engine: str, where: str, error: BaseException) -> Failure:
    """Describes an error of an engine, as when it loses a result. It is worth a retry, unless a worker
    lacks a package or has an old one."""
    lack = _import_error(error)
    if lack is not None:
        return Failure("version_mismatch", f"{where}: a worker of {engine} cannot load the job: {first_line(lack)}",
                       ("install what the driver has on every machine of the job",))  # fmt: skip
    text = f"{where}: {engine} reports {type(error).__name__}: {first_line(error)}"
    return Failure("job_failed", text, (AGAIN,), is_transient=True)


def _import_error(error: Union[BaseException, None]) -> Union[ImportError, None]:
    """The error of an import among the causes of an error; Ray keeps its cause in `cause`."""
    seen = 0
    while error is not None and seen < 10:  # causes may form a circle
        if isinstance(error, ImportError):
            return error
        error = getattr(error, "cause", None) or error.__cause__ or error.__context__
        seen += 1
    return None


def first_line(error: BaseException) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
