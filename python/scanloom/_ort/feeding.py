"""Checks feeds and names before they are passed to the library."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Union

import numpy as np

from .._arrays import array_from_dlpack
from .._errors import Error, InvalidArgument
from .option_values import texts
from .values import OrtValue, value_of

Feeds = Mapping[str, Any]


class NodeArg(NamedTuple):
    """An input or output of a model. A dimension is a number, the name of a symbol, or None."""

    name: str
    shape: list[Union[int, str, None]]
    type: str


NodeArg.__module__ = "scanloom._feeding"  # the former module, which pickles name


def names_of(output_names: Union[Sequence[str], None]) -> list[str]:
    return [] if output_names is None else texts("output_names", output_names)


def feeds_of(feeds: Feeds) -> dict[str, Any]:
    """Unwraps OrtValues and returns the feeds as a dictionary. Raises InvalidArgument."""
    if not isinstance(feeds, dict):
        try:
            feeds = dict(feeds)
        except (TypeError, ValueError):
            kind = type(feeds).__name__
            raise InvalidArgument(f"feeds are a {kind}, but must be a dictionary") from None
    for value in feeds.values():  # a generator would take twice as long
        if isinstance(value, OrtValue):
            return {name: value_of(value) for name, value in feeds.items()}
    return feeds


class GivenNames:
    """Which names of sizes the model knows, of those that SessionOptions assign sizes to."""

    def __init__(self, sizes: Mapping[str, int]) -> None:
        self._sizes = sizes
        self._unknown = dict.fromkeys(sizes)

    def size_of(self, dim: Union[int, str, None]) -> Union[int, str, None]:
        """The size from the options, or the dimension itself. The name may be given in the quotes
        of the IR's text form."""
        if not isinstance(dim, str):
            return dim
        quoted = '"' + dim.replace("\\", "\\\\").replace('"', '\\"') + '"'
        for name in (dim, quoted):
            if name in self._sizes:
                self._unknown.pop(name, None)
                return self._sizes[name]
        return dim

    def unknown(self) -> list[str]:
        """A note for each name that no input or output has, as far as they were described."""
        return [f"the model has no size named '{name}', which the options fix" for name in self._unknown]


class GivenSizes:
    """The sizes that SessionOptions assign to symbols; feeds must match them."""

    def __init__(self, sizes: Mapping[str, int], inputs: Sequence[NodeArg]) -> None:
        self._inputs = {end.name: end for end in inputs} if sizes else {}

    def check(self, feeds: Feeds) -> None:
        """Raises InvalidArgument for a tensor of another size. Ignores values that are not
        tensors."""
        for name, declared in self._inputs.items():
            for shape in _shapes(feeds.get(name), "seq(" in declared.type):
                for axis, (size, found) in enumerate(zip(declared.shape, shape)):
                    if isinstance(size, int) and size != found:
                        raise InvalidArgument(
                            f"input '{name}' has size {size} on axis {axis}, but the feed has "
                            f"{found}"
                        )


def _shapes(value: Any, is_sequence: bool) -> Iterator[tuple[int, ...]]:
    """The shape of a tensor that is fed, or of each tensor in a sequence. Skips values without a
    shape; the run reports them."""
    tensors = value if is_sequence and isinstance(value, (list, tuple)) else [value]
    for tensor in tensors:
        try:
            if hasattr(tensor, "__dlpack__") and not hasattr(tensor, "shape"):
                yield array_from_dlpack(tensor).shape
            elif tensor is not None:
                yield np.shape(tensor)
        except (Error, BufferError, RuntimeError, TypeError, ValueError):
            continue
