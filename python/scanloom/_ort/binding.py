"""IOBinding: inputs and outputs that are bound once and reused by many runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Union

import numpy as np

from .._errors import InvalidArgument
from .values import OrtValue, array_at, require_cpu, require_room, value_of

if TYPE_CHECKING:
    from .session import InferenceSession

Array = np.ndarray[Any, Any]


class IOBinding:
    """Bindings of a session, made by session.io_binding(). Use it from one thread at a time.

    session.run_with_iobinding reads inputs directly from the bound memory. It writes an output to
    the memory bound to it; an output without memory is newly allocated by each run.
    """

    __module__ = "scanloom._binding"  # the former module, which pickles name

    def __init__(self, session: "InferenceSession") -> None:
        self._session = session
        self._inputs: dict[str, Any] = {}
        self._outputs: dict[str, Union[OrtValue, None]] = {}
        self._results: list[OrtValue] = []

    def bind_cpu_input(self, name: str, arr_on_cpu: Any) -> None:
        """Binds an array, or any other value that a run accepts for this input."""
        self._inputs[self._known(name, "input")] = arr_on_cpu

    def bind_input(
        self,
        name: str,
        device_type: str,
        device_id: int,
        element_type: Any,
        shape: Sequence[int],
        buffer_ptr: int,
    ) -> None:
        """Binds memory at an address. It must stay valid until the input is bound again."""
        require_cpu(device_type, device_id)
        known = self._known(name, "input")
        self._inputs[known] = array_at(buffer_ptr, element_type, shape)

    def bind_ortvalue_input(self, name: str, ortvalue: OrtValue) -> None:
        self._inputs[self._known(name, "input")] = _ortvalue(ortvalue)

    def bind_output(
        self,
        name: str,
        device_type: str = "cpu",
        device_id: int = 0,
        element_type: Any = None,
        shape: Union[Sequence[int], None] = None,
        buffer_ptr: Union[int, None] = None,
    ) -> None:
        """Requests an output; with an address, it is written to that memory."""
        require_cpu(device_type, device_id)
        known = self._known(name, "output")
        if buffer_ptr is None:
            self._outputs[known] = None
            return
        if element_type is None or shape is None:
            raise InvalidArgument(f"output '{name}' has an address, but no element type or shape")
        self._outputs[known] = OrtValue(array_at(buffer_ptr, element_type, shape))

    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None:
        self._outputs[self._known(name, "output")] = _ortvalue(ortvalue)

    def synchronize_inputs(self) -> None:
        """Does nothing: all memory is CPU memory."""

    def synchronize_outputs(self) -> None:
        """Does nothing: all memory is CPU memory."""

    def get_outputs(self) -> list[OrtValue]:
        """The results of the last run, in the order in which the outputs were bound."""
        return list(self._results)

    def get_outputs_as_ortvaluevector(self) -> list[OrtValue]:
        return list(self._results)

    def copy_outputs_to_cpu(self) -> list[Any]:
        """Copies of the results of the last run, in the form that run() returns."""
        values = [value_of(result) for result in self._results]
        return [value.copy() if isinstance(value, np.ndarray) else value for value in values]

    def clear_binding_inputs(self) -> None:
        self._inputs.clear()

    def clear_binding_outputs(self) -> None:
        self._outputs.clear()
        self._results.clear()

    def _known(self, name: str, kind: str) -> str:
        """Returns the name if the session has it. Raises InvalidArgument."""
        ends = self._session.get_inputs() if kind == "input" else self._session.get_outputs()
        if all(end.name != name for end in ends):
            raise InvalidArgument(
                f"the model has no {kind} '{name}'",
                (f"its {kind}s are: {', '.join(end.name for end in ends)}",),
            )
        return name

    def _feeds(self) -> dict[str, Any]:
        return {name: value_of(value) for name, value in self._inputs.items()}

    def _wanted(self) -> list[str]:
        if not self._outputs:
            raise InvalidArgument("no output is bound", ("bind one with bind_output(name)",))
        return list(self._outputs)

    def _keep(self, results: Sequence[Any]) -> None:
        """Stores the results of a run, in the order of the bound outputs."""
        types = {output.name: output.type for output in self._session.get_outputs()}
        bound = list(self._outputs.items())
        for (name, value), result in zip(bound, results):
            if value is not None and not isinstance(result, np.ndarray):
                raise InvalidArgument(
                    f"output '{name}' is not a tensor, so a tensor cannot be bound to it"
                )
            if value is not None:
                require_room(value.numpy(), result, f"the memory bound to output '{name}'")
        self._results = []
        for (name, value), result in zip(bound, results):
            if value is None:
                value = OrtValue(result, types[name])
            else:
                np.copyto(value.numpy(), result)
            self._results.append(value)


def _ortvalue(value: Any) -> OrtValue:
    if not isinstance(value, OrtValue):
        raise InvalidArgument(f"a {type(value)} is bound, but must be an OrtValue")
    return value
