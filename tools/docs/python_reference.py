"""Writes the reference of the Python package as Markdown, from signatures and docstrings."""

import enum
import importlib
import inspect
import pathlib
import re
import sys
import types
from typing import Any

import markdown_text

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "dev"))

import tensor_functions  # noqa: E402

# The pages, with their modules.
_MODULES = {
    "tensor": "scanloom.tensor",
    "tensor.nnet": "scanloom.tensor.nnet",
    "tensor.nlinalg": "scanloom.tensor.nlinalg",
    "tensor.slinalg": "scanloom.tensor.slinalg",
    "tensor.fft": "scanloom.tensor.fft",
    "tensor.signal.pool": "scanloom.tensor.signal.pool",
    "tensor.shared_randomstreams": "scanloom.tensor.shared_randomstreams",
    "gradient": "scanloom.gradient",
    "ifelse": "scanloom.ifelse",
    "printing": "scanloom.printing",
    "scan_module": "scanloom.scan_module",
    "updates": "scanloom.updates",
    "compile": "scanloom.compile",
    "backend": "scanloom.backend",
    "batch": "scanloom.batch",
    "ray": "scanloom.ray",
    "dask": "scanloom.dask",
    "distributed": "scanloom.distributed",
    "sandbox.rng_mrg": "scanloom.sandbox.rng_mrg",
}


# These come first on their pages, followed by the others in alphabetical order.
_FIRST = ("InferenceSession", "Stream", "SessionOptions", "RunOptions", "OrtValue", "IOBinding",
          "scan", "function", "shared", "grad", "Variable", "SharedVariable")


def annotation(value: Any) -> str:
    text = value if isinstance(value, str) else inspect.formatannotation(value)
    return text.replace("'", "").replace('"', "")


def parameter(each: inspect.Parameter) -> str:
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    text = stars.get(each.kind, "") + each.name
    typed = each.annotation not in (inspect.Parameter.empty, "Any", Any)
    if typed:
        text += f": {annotation(each.annotation)}"
    if each.default is not inspect.Parameter.empty:
        default = repr(each.default)
        default = "..." if " at 0x" in default else default
        text += f" = {default}" if typed else f"={default}"
    return text


def signature(name: str, value: Any, is_method: bool = False) -> str:
    """Returns the call in Python syntax; only the name if there is no signature."""
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return name
    arguments, kind = [], None
    for i, each in enumerate(found.parameters.values()):
        if is_method and i == 0 and each.name in ("self", "cls"):
            continue
        if each.kind is inspect.Parameter.KEYWORD_ONLY and kind not in (
                inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_POSITIONAL):
            arguments.append("*")
        if kind is inspect.Parameter.POSITIONAL_ONLY and each.kind is not kind:
            arguments.append("/")
        arguments.append(parameter(each))
        kind = each.kind
    result = found.return_annotation
    tail = "" if result in (inspect.Signature.empty, "None", None, "Any") else f" -> {annotation(result)}"
    return markdown_text.wrap_call(name, arguments, tail)


def doc_markdown(text: str) -> str:
    """Converts a docstring to Markdown: indented examples to code, `name: meaning` to lists."""
    made = []
    for part in re.split(r"\n\s*\n", text.strip("\n")):
        lines = part.splitlines()
        if all(line.startswith("    ") for line in lines) and lines:
            made.append(markdown_text.code(inspect.cleandoc(part), "python"))
            continue
        text = ""
        for line in lines:
            entry = re.match(r"^((?:\*{1,2}|(?=[a-z]))\w+(?:, \*{0,2}\w+)*(?: \([^)]*\))?): (.+)", line)
            in_list = text.split("\n")[-1].startswith("-")
            if entry and text and not in_list and text[-1] not in ".:;":
                entry = None  # a sentence that is continued on this line, with a colon after its first words
            if entry and (len(lines) == 1 or text.startswith("-") or line is lines[0]
                          or entry[1] == entry[1].lower()):
                text += ("\n" if text else "") + f"- **{markdown_text.escape(entry[1])}**: "
                text += markdown_text.escape(entry[2])
            elif line.startswith("Raises ") or (
                    in_list and not line.startswith(" ")):
                text += "\n\n" + markdown_text.escape(line)
            else:
                text += (" " if text else "") + markdown_text.escape(line.strip())
        made.append(separate_lists(text))
    return "\n\n".join(made) + "\n"


def doc_of(value: Any) -> str:
    return inspect.cleandoc(value.__doc__ or "")


def separate_lists(text: str) -> str:
    """Inserts the blank line that Markdown needs between a paragraph and a list."""
    return re.sub(r"(?m)^((?!- ).+)\n(?=- )", r"\1\n\n", text)


def is_public(name: str) -> bool:
    return not name.startswith("_")


def members(value: type) -> dict[str, Any]:
    """Returns the public methods and properties of a class and of its private bases."""
    found: dict[str, Any] = {}
    for base in value.__mro__:
        if base is value or (base.__module__.startswith("scanloom") and not is_public(base.__name__)):
            for name, member in vars(base).items():
                if is_public(name) and name not in found:
                    found[name] = member
    return found


def write_member(owner: str, name: str, value: Any, level: int) -> str:
    title = f"{owner}.{name}"
    head = markdown_text.heading(level, [title], anchor(title), label=name)
    if isinstance(value, property):
        result = inspect.signature(value.fget).return_annotation if value.fget else ""
        typed = "" if result in ("", inspect.Signature.empty) else f": {annotation(result)}"
        return f"{head}\n{markdown_text.code(name + typed, 'python')}\n{doc_markdown(doc_of(value))}"
    inner = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
    if not callable(inner):
        return ""
    shown = signature(name, inner, not isinstance(value, staticmethod))
    return f"{head}\n{markdown_text.code(shown, 'python')}\n{doc_markdown(doc_of(inner))}"


def anchor(title: str) -> str:
    return title.replace(".", "-")


def write_class(names: list[str], value: type, level: int) -> str:
    parts = [markdown_text.heading(level, names, anchor(names[0]))]
    bases = [base.__name__ for base in value.__bases__ if base is not object]
    shown = names[0]
    if "__init__" in vars(value) and not issubclass(value, BaseException):
        made = signature(names[0], value.__init__, is_method=True)
        shown = names[0] if "_native." in made else made  # such classes are made by functions
    elif bases:
        shown = f"{names[0]}({', '.join(bases)})"
    if issubclass(value, enum.Enum):
        shown += "".join(f"\n    {each.name} = {int(each)}" for each in value)
    parts.append(markdown_text.code(f"class {shown}", "python"))
    parts.append(doc_markdown(doc_of(value)))
    parts += [write_member(names[0], name, each, level + 1) for name, each in members(value).items()]
    return "\n".join(part for part in parts if part)


def write_value(names: list[str], value: Any, level: int) -> str:
    if isinstance(value, type):
        return write_class(names, value, level)
    head = markdown_text.heading(level, names, anchor(names[0]))
    if not callable(value):
        return f"{head}\n{markdown_text.code(f'{names[0]}: {type(value).__name__}', 'python')}"
    return f"{head}\n{markdown_text.code(signature(names[0], value), 'python')}\n{doc_markdown(doc_of(value))}"


def by_value(module: types.ModuleType, names: list[str]) -> list[tuple[list[str], Any]]:
    """Groups the names of a module by the object that they name."""
    found: dict[int, tuple[list[str], Any]] = {}
    for name in names:
        value = getattr(module, name)
        if not isinstance(value, types.ModuleType):
            found.setdefault(id(value), ([], value))[0].append(name)
    return list(found.values())


def offered(module: types.ModuleType) -> list[str]:
    """Returns the public names of a module: those of `__all__`, or those that it defines."""
    listed = getattr(module, "__all__", None)
    if listed:
        return list(listed)
    return [name for name in dir(module)
            if is_public(name) and getattr(getattr(module, name), "__module__", "") == module.__name__]


class Pages:
    """The pages written so far. A name that several modules offer is documented on the page of the
    first one; the other pages link to it."""

    def __init__(self) -> None:
        self.text: dict[str, str] = {}
        self.homes: dict[int, str] = {}
        self.kept: list[Any] = []  # keeps objects alive, so that ids stay unique

    def entries(self, page: str, module: types.ModuleType, names: list[str]) -> tuple[list, list[str]]:
        """Returns the entries of the page, and links to entries on other pages."""
        new, known = [], []
        for found, value in by_value(module, names):
            home = self.homes.get(id(value))
            if home:
                known += [f"[`{name}`]({home})" for name in found]
                continue
            self.homes[id(value)] = f"{page}.md#{anchor(found[0])}"
            self.kept.append(value)
            new.append((found, value))
        return new, known

    def add(self, page: str, parts: list[str]) -> None:
        text = re.sub(r"\n{3,}", "\n\n", "\n".join(parts))
        self.text[f"python/{page}"] = markdown_text.unique_anchors(text)


def sections(entries: list) -> dict[str, list]:
    """Divides the entries of `scanloom.tensor` into the groups of tools/dev/tensor_functions.py."""
    found: dict[str, list] = {**{group: [] for group in tensor_functions.GROUPS},
                              "Variables by kind": [], "Classes and other values": []}
    group_of = {name: group for group, text in tensor_functions.GROUPS.items() for name in text.split()}
    for names, value in entries:
        is_other = isinstance(value, type) or not callable(value)
        rest = "Classes and other values" if is_other else "Variables by kind"
        found[next((group_of[name] for name in names if name in group_of), rest)].append((names, value))
    return {section: held for section, held in found.items() if held}


def write_module(pages: Pages, name: str, title: str) -> None:
    module = importlib.import_module(f"scanloom.{name}")
    page = name.replace(".", "-")
    entries, known = pages.entries(page, module, offered(module))
    parts = [f"# {title}\n", doc_markdown(module.__doc__ or "")]
    if known:
        parts.append(f"It also offers {', '.join(known)}.\n")
    if len(entries) < 60:
        parts += [write_value(names, value, 2) for names, value in entries]
        return pages.add(page, parts)
    for section, held in sections(entries).items():
        parts.append(f"## {section}\n")
        parts += [write_value(names, value, 3) for names, value in held]
    return pages.add(page, parts)


def write_package(pages: Pages) -> None:
    """Writes the names of the package itself to two pages: models, and expressions."""
    import scanloom

    models = set(scanloom.__all__)
    rest = [name for name in dir(scanloom) if is_public(name) and name not in models
            and not isinstance(getattr(scanloom, name), types.ModuleType)]
    for page, title, names in (("sessions", "Sessions and streams", sorted(models)),
                               ("expressions", "Expressions and functions", rest)):
        kinds: dict[str, list] = {"Classes": [], "Functions": [], "Errors and warnings": []}
        names = [name for name in _FIRST if name in names] + [name for name in names if name not in _FIRST]
        for each in pages.entries(page, scanloom, names)[0]:
            is_class = isinstance(each[1], type)
            is_error = is_class and issubclass(each[1], BaseException)
            kinds["Errors and warnings" if is_error else "Classes" if is_class else "Functions"].append(each)
        parts = [f"# {title}\n\nNames of the package `scanloom`.\n"]
        for kind, held in kinds.items():
            parts += [f"## {kind}\n"] * bool(held) + [write_value(*each, 3) for each in held]
        pages.add(page, parts)


def pages() -> dict[str, str]:
    """Returns Markdown by page; the index page is a table of the others."""
    made = Pages()
    write_package(made)
    rows = ["| [Sessions and streams](sessions.md) | models: `scanloom.InferenceSession` and its like |\n",
            "| [Expressions and functions](expressions.md) | `scan`, `function`, `shared`, `grad` |\n"]
    for name, title in _MODULES.items():
        write_module(made, name, title)
        module = importlib.import_module(f"scanloom.{name}")
        line = (module.__doc__ or "").split("\n")[0]
        rows.append(f"| [{title}]({name.replace('.', '-')}.md) | {markdown_text.escape(line)} |\n")
    made.text["python/index"] = "| page | what it holds |\n|---|---|\n" + "".join(rows)
    return made.text
