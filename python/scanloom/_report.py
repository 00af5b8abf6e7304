"""Reports: a page that shows a model, its loops, and where a run's time and memory go."""

from __future__ import annotations

import html
import json
import os
import pathlib
import tempfile
import webbrowser
from typing import Any, Union

from . import _native
from ._errors import Unsupported
from ._files import written

_NOTEBOOK_HEIGHT = 640  # pixels of the frame in a notebook


class Report:
    """What a session or function knows about itself. A notebook shows it as a page. Immutable, so
    threads may share it."""

    def __init__(self, text: str) -> None:
        self._text = text

    @property
    def data(self) -> dict[str, Any]:
        """Everything that the page shows, as a new dictionary (docs/report.md)."""
        parsed: dict[str, Any] = json.loads(self._text)
        return parsed

    @property
    def html(self) -> str:
        """The page, which needs no other file and no network. Raises Unsupported if this package
        was built without it."""
        return _native.report_page(self._text)

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the page, or, if the path ends in .json, its data. Raises FileNotWritten,
        FolderNotFound, Unsupported."""
        written(path, self._text if os.fspath(path).endswith(".json") else self.html)

    def open(self) -> str:
        """Opens the page in a browser, from a temporary file, and returns the file's path. The file
        is kept. Raises Unsupported."""
        with tempfile.NamedTemporaryFile(
            "w", prefix="scanloom-report-", suffix=".html", delete=False, encoding="utf-8"
        ) as file:
            file.write(self.html)
        webbrowser.open(pathlib.Path(file.name).as_uri())  # escapes what the folder's name holds
        return file.name

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
        return f"<report of {self.data['title']}: save(path) and open() show it>"


Report.__module__ = "scanloom"
