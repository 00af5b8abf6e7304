"""The functions of scanloom.tensor in groups, each with the first sentence of its docstring."""

import importlib
import inspect
import pathlib

import element_functions
import scanloom.tensor as T

# Every function of `T` is in one group, except variables by kind (`T.vector`, `T.imatrix`). Those
# of functions.inc that are not listed here are added to the group that the list names.
GROUPS = {
    "Arithmetic": """add sub mul true_div divide floor_div int_div mod mod_check divmod neg negative
        inv sqr square sqrt pow power abs_ absolute sign sgn identity tensor_copy""",
    "Exponentials and logarithms": """exp exp2 expm1 log log2 log10 log1p logaddexp erf""",
    "Trigonometric and hyperbolic functions": """sin cos tan arcsin arccos arctan arctan2 sinh cosh
        tanh arcsinh arccosh arctanh deg2rad rad2deg""",
    "Rounding, limits, and types": "ceil floor trunc round iround clip cast",
    "Comparisons and choices": """eq neq lt le gt ge isclose isfinite isinf isnan maximum minimum
        largest smallest switch where choose""",
    "Logic and bits": "and_ bitwise_and or_ bitwise_or xor bitwise_xor invert bitwise_not",
    "Complex numbers": "complex complex_from_polar real imag angle conj",
    "Constants and new tensors": """constant as_tensor as_tensor_variable stacklists zeros
        zeros_like ones ones_like empty alloc fill second arange eye identity_like tri""",
    "Shapes and axes": """shape reshape flatten squeeze transpose swapaxes moveaxis rollaxis
        shape_padleft shape_padright shape_padaxis addbroadcast unbroadcast patternbroadcast""",
    "Joining, splitting and repeating": """join concatenate stack horizontal_stack vertical_stack
        split repeat tile roll""",
    "Picking and writing parts": """take compress set_subtensor inc_subtensor diag diagonal tril
        triu fill_diagonal fill_diagonal_offset nonzero nonzero_values flatnonzero""",
    "Reductions": """sum prod mean var std max min max_and_argmax argmax argmin all any ptp norm
        logsumexp allclose""",
    "Along an axis": "cumsum cumprod diff sort argsort",
    "Products": "dot matmul tensordot outer batched_dot batched_tensordot trace",
    "Indices and counting": """unique bincount to_one_hot inverse_permutation unravel_index
        ravel_multi_index""",
}
MODULES = {
    "nnet": "Neural networks: `T.nnet`",
    "nlinalg": "Linear algebra: `T.nlinalg`",
    "slinalg": "Solvers and factorisations: `T.slinalg`",
    "fft": "Fourier transforms: `T.fft`",
}


def sentence(function) -> str:
    text = " ".join((inspect.getdoc(function) or "").split("\n\n")[0].split())
    head, stop, _ = text.partition(". ")
    return (head + "." if stop else text).replace("|", "\\|")


def rows(module, names: list[str], prefix: str) -> str:
    """Table rows, one per sentence, so that several names of a function share a row."""
    by_text: dict[str, list[str]] = {}
    for name in names:
        by_text.setdefault(sentence(getattr(module, name)), []).append(f"`{prefix}{name}`")
    lines = [f"| {', '.join(same)} | {text} |\n" for text, same in by_text.items()]
    return "| function | gives |\n| --- | --- |\n" + "".join(lines)


def functions(module) -> list[str]:
    """The public functions of a module in alphabetical order, with those that are instances of its
    classes, as `T.slinalg.solve` is, and without helpers that it imports."""
    def is_public(value) -> bool:
        if inspect.isfunction(value):
            return value.__module__ == module.__name__ or (
                value.__module__.startswith("scanloom.tensor") and value.__name__ in T.__all__)
        return type(value).__module__ == module.__name__

    names = getattr(module, "__all__", None) or [
        name for name, value in vars(module).items()
        if not name.startswith("_") and is_public(value)]
    return sorted(names)


def groups() -> dict[str, list[str]]:
    found = {title: names.split() for title, names in GROUPS.items()}
    placed = {name for names in found.values() for name in names}
    for each in element_functions.functions(pathlib.Path(__file__).resolve().parents[2]):
        if each.python and each.python not in placed:
            found[each.group].append(each.python)
    return found


def check_groups() -> None:
    placed = [name for names in groups().values() for name in names]
    kinds = importlib.import_module("scanloom.tensor._kinds")
    wanted = {name for name in T.__all__
              if inspect.isfunction(getattr(T, name)) and not hasattr(kinds, name)}
    for name in sorted(wanted ^ set(placed)):
        what = "is in no group" if name in wanted else "is no function of scanloom.tensor"
        raise LookupError(f"T.{name} {what}: see GROUPS in tools/dev/tensor_functions.py")


def tables() -> str:
    check_groups()
    parts = [f"### {title}\n\n{rows(T, names, '')}" for title, names in groups().items()]
    for name, title in MODULES.items():
        module = importlib.import_module(f"scanloom.tensor.{name}")
        parts.append(f"### {title}\n\n{rows(module, functions(module), '')}")
    return "\n".join(parts)
