"""Reports: a page that shows a model, its loops, and where a run's time and memory go."""

from __future__ import annotations

import contextlib
import html
import json
import os
import pathlib
import tempfile
import webbrowser
from typing import Any, Union

from . import _native
from ._arguments import whole
from ._errors import InvalidArgument, InvalidType, Unsupported
from ._files import written

_NOTEBOOK_HEIGHT = 640  # pixels of the frame in a notebook
_MAX_RUNS = 1000


def title_and_runs(title: Any, runs: Any) -> tuple[str, int]:
    """Checks the arguments of reports. Raises InvalidType, InvalidArgument."""
    if not isinstance(title, str):
        raise InvalidType(f"the title of a report must be a string, not {title!r:.80}")
    number = whole(runs, "the number of runs of a report")
    if not 0 <= number <= _MAX_RUNS:
        raise InvalidArgument(
            f"the number of runs of a report is {number}, outside of [0, {_MAX_RUNS}]"
        )
    return title.encode("utf-8", "backslashreplace").decode(), number


class Report:
    """What a session or function knows about itself. A notebook shows it as a page. Immutable, so
    threads may share it.

    text: the data as JSON, as save() writes them. Raises InvalidType.
    """

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise InvalidType(f"the data of a report must be JSON in a string, not {text!r:.80}")
        self._text = text

    @property
    def data(self) -> dict[str, Any]:
        """Everything that the page shows, as a new dictionary (docs/report.md). Raises
        InvalidArgument if the text is not such data."""
        try:
            parsed = json.loads(self._text)
        except ValueError as error:
            raise InvalidArgument(f"the data of the report are not JSON: {error}") from None
        if not isinstance(parsed, dict):
            raise InvalidArgument("the data of the report are not a JSON object")
        return parsed

    @property
    def html(self) -> str:
        """The page, which needs no other file and no network. Raises Unsupported if this package
        was built without it."""
        return _native.report_page(self._text)

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the page, or, if the path ends in .json, its data. Raises FileNotWritten,
        FolderNotFound, InvalidType, Unsupported."""
        try:
            place = os.fsdecode(path)
        except TypeError:
            raise InvalidType(f"the path of a report must be a path, not {path!r:.80}") from None
        written(place, self._text if place.lower().endswith(".json") else self.html)

    def open(self) -> str:
        """Opens the page in a browser, from a temporary file, and returns the file's path. The file
        is kept. Raises FileNotWritten, Unsupported."""
        page = self.html  # before there is a file, which would stay if this raises
        handle, path = tempfile.mkstemp(prefix="scanloom-report-", suffix=".html")
        os.close(handle)
        try:
            written(path, page)
        except BaseException:
            with contextlib.suppress(OSError):
                os.remove(path)
            raise
        webbrowser.open(pathlib.Path(path).as_uri())  # escapes what the folder's name holds
        return path

    def _repr_html_(self) -> Union[str, None]:
        """None, so that a notebook shows the text instead, if the package has no page."""
        try:
            page = html.escape(self.html, quote=True)
        except Unsupported:
            return None
        # In a frame of its own: neither the notebook nor the page can change the other.
        return (
            '<iframe sandbox="allow-scripts" title="Scanloom report" loading="lazy" '
            f'style="width:100%;height:{_NOTEBOOK_HEIGHT}px;border:0" srcdoc="{page}"></iframe>'
        )

    def __repr__(self) -> str:
        title = self.data.get("title", "unknown data")
        return f"<report of {title}: save(path) and open() show it>"


Report.__module__ = "scanloom"
