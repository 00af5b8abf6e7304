"""Writes the C++ and C reference as Markdown, from the headers and their comments.

A header begins with a comment that introduces it. `///` comments document the declaration after
them; `//` and `/* ---- ... */` comments introduce the declarations up to the next such comment.
"""

import dataclasses
import pathlib
import re

import markdown_text

_NOISE = re.compile(r"\[\[nodiscard\]\]\s*|\bSCANLOOM_API\s+|\bconstexpr\s+(?=\[)")
_NAMESPACE = re.compile(r"^(inline )?namespace [\w:]* ?\{$|^\}  // namespace|^extern \"C\" \{$")
_SECTION = re.compile(r"^/\* -+ (.*?) -+ \*/$")
_RECORD = re.compile(r"^(?:template <[^>]*>\s*)?(class|struct|enum class|enum|union)\b(?:\s+(\w+))?")
_FUNCTION = re.compile(r"(operator\s?(?:\(\)|\[\]|[^\s\w(]+|[\w:]+[\w: &]*)|~?\w+)\s*\(")


@dataclasses.dataclass
class Item:
    """A declaration with the comment above it; only a comment if `text` is empty."""

    text: str
    doc: str = ""
    section: str = ""  # the title of a section, in C
    joined: bool = False  # follows the previous item without a blank line or comment


def expand_lists(text: str, folder: pathlib.Path) -> str:
    """Replaces `#define X(...)`, `#include <....inc>`, `#undef X` by the rows of the list. A value
    `doc` becomes the comment of its row."""

    def rows(match: re.Match) -> str:
        names = [name.strip() for name in match["names"].split(",")]
        made = []
        for row in re.findall(rf"^{match['macro']}\((.*)\)$", (folder / match["file"]).read_text(), re.M):
            values = [value.strip() for value in re.findall(r'\s*"[^"]*"|[^,"]+', row) if value.strip()]
            by_name = dict(zip(names, values, strict=False))
            if "doc" in by_name:
                made.append("/// " + by_name["doc"].strip('"'))
            made.append(re.sub(r"\w+", lambda word: by_name.get(word[0], word[0]), match["body"]))
        return "".join(f"  {row.strip()}\n" for row in made)

    pattern = (r"^#define (?P<macro>\w+)\((?P<names>[^)]*)\) ?(?P<body>.*)\n"
               r"#include <scanloom/(?P<file>\w+\.inc)>\n#undef \w+\n")
    return re.sub(pattern, rows, text, flags=re.M)


def introduction(text: str) -> tuple[str, str]:
    """Returns the comment at the top of a header, and the rest of the text."""
    lines = text.splitlines()
    count = next((i for i, line in enumerate(lines) if not line.startswith("//")), len(lines))
    return comment_text(lines[:count]), "\n".join(lines[count:]) + "\n"


def comment_text(lines: list[str]) -> str:
    return "\n".join(re.sub(r"^\s*///?<? ?", "", line) for line in lines)


def is_complete(text: str) -> bool:
    """Whether the lines read so far are a complete declaration."""
    bare = re.sub(r'"[^"]*"|//.*', "", text)
    if bare.count("{") != bare.count("}") or bare.count("(") != bare.count(")"):
        return False
    return bare.rstrip().endswith((";", "}"))


def items(text: str) -> list[Item]:
    """Returns the declarations and comments of a header, or of the body of a class."""
    found: list[Item] = []
    doc: list[str] = []
    note: list[str] = []
    declaration = ""
    blank = True
    for line in re.sub(r"\\\n", " ", text).splitlines():
        bare = line.strip()
        if declaration:
            declaration += line + "\n"
        elif bare.startswith("///"):
            doc.append(bare)
            continue
        elif match := _SECTION.match(bare):
            found.append(Item("", section=match[1]))
            continue
        elif bare.startswith("//"):
            note.append(bare)
            continue
        elif not bare:
            if note:
                found.append(Item("", comment_text(note)))
            note, doc, blank = [], [], True
            continue
        elif bare.startswith("#") or _NAMESPACE.match(bare) or bare == "}":
            continue
        else:
            declaration = line + "\n"
        if is_complete(declaration):
            if note:
                found.append(Item("", comment_text(note)))
            joined = not (blank or doc or note)
            found.append(Item(declaration.rstrip(), comment_text(doc), joined=joined))
            declaration, doc, note, blank = "", [], [], False
    return found


def public_part(body: str) -> str:
    """Returns the body of a class without its private sections and friends."""
    kept, is_public = [], True
    for line in body.splitlines():
        if re.match(r"^\s*(private|protected|public):", line):
            is_public = "public" in line
        elif is_public and not re.match(r"^\s*friend (class|struct) ", line):
            kept.append(line)
    return "\n".join(kept) + "\n"


def without_body(text: str) -> str:
    """Returns a function without body and initializers, on one line or one argument per line."""
    text = re.sub(r"\s+", " ", _NOISE.sub("", text)).strip()
    match = _FUNCTION.search(re.sub(r"^template <.*?> ", lambda m: " " * len(m[0]), text))
    if not match:
        return text
    depth, end = 0, len(text)
    for position in range(match.end() - 1, len(text)):
        depth += {"(": 1, ")": -1}.get(text[position], 0)
        if depth == 0:
            end = position
            break
    tail = re.split(r"(?<!:):(?!:)|\{|;| = default", text[end + 1 :])[0].rstrip()
    arguments = split_arguments(text[match.end() : end])
    return markdown_text.wrap_call(text[: match.end() - 1], arguments, tail + ";")


def split_arguments(text: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for position, char in enumerate(text):
        depth += {"(": 1, "<": 1, "{": 1, "[": 1, ")": -1, ">": -1, "}": -1, "]": -1}.get(char, 0)
        if char == "," and depth == 0:
            parts.append(text[start:position].strip())
            start = position + 1
    last = text[start:].strip()
    return [*parts, last] if last else parts


def name_of(text: str) -> str:
    """Returns the name of a declaration, for its heading."""
    text = _NOISE.sub("", text).strip()
    if match := re.match(r"^typedef [^;]*?\(\*(\w+)\)|^typedef [^;(]*?(\w+);", text):
        return match[1] or match[2]
    if (match := _RECORD.match(text)) and not re.match(r"^\w+ \w+ \w+\(", text):
        return match[2] or ""
    if match := re.match(r"^(?:template <[^;]*?>\s*)?(?:using|concept) (\w+)", text):
        return match[1]
    if match := re.match(r"^(?:template <.*?>\s*)?concept (\w+)", text, re.S):
        return match[1]
    if match := re.search(r"\b(\w+)(?:<[\w:]+>)? = ", text.split("(")[0]):
        return match[1]
    match = _FUNCTION.search(re.sub(r"^template <.*?>\s", "", text, flags=re.S))
    match = match or re.search(r"(\w+);$", text)
    return match[1] if match else ""


def is_record(text: str) -> bool:
    return bool(_RECORD.match(_NOISE.sub("", text).strip())) and "{" in text


def record_block(text: str) -> str:
    """Returns a struct or enumeration as written in the header, without function bodies."""
    lines = [_NOISE.sub("", line) for line in public_part(text).splitlines()]
    shown, skipped = [], 0
    for line in lines:
        if skipped:
            skipped += line.count("{") - line.count("}")
            continue
        opened = line.count("{") - line.count("}")
        if line.rstrip().endswith("{") and "(" in line:
            skipped = opened
            line = line.rstrip()[:-1].rstrip() + ";"
        elif re.search(r"\) *(const|noexcept| )*\{.*\}$", line):
            line = re.sub(r" *\{.*\}$", ";", line)
        shown.append(line)
    return "\n".join(shown)


def groups(found: list[Item]) -> list[list[Item]]:
    """Groups items under one heading: overloads, pairs with one comment, runs without comments."""
    made: list[list[Item]] = []
    for i, item in enumerate(found):
        last = made[-1] if made else None
        if last and is_record(item.text) and not name_of(item.text):
            last.append(item)  # in C, the enumerators of the type above
            continue
        if last and item.text and item.joined and last[-1].text and not is_record(last[-1].text):
            same = name_of(item.text) == name_of(last[-1].text)
            plain = not last[0].doc and not is_record(item.text)
            alone = not (i + 1 < len(found) and found[i + 1].joined)
            pair = len(last) == 1 and alone and "operator" not in item.text + last[0].text
            if same or plain or (pair and not is_record(item.text)):
                last.append(item)
                continue
        made.append([item])
    return made


def declared(item: Item) -> str:
    """Returns the text of a declaration for the page."""
    text = _NOISE.sub("", item.text).strip()
    if is_class(item):
        return re.sub(r"\s+", " ", text.partition("{")[0]).strip() + ";"
    return record_block(item.text) if is_record(item.text) else without_body(item.text)


def is_class(item: Item) -> bool:
    """Whether members get their own entries; members of a struct are shown in its block."""
    return is_record(item.text) and _NOISE.sub("", item.text).lstrip().startswith(("class", "template"))


def write_group(group: list[Item], level: int, prefix: str, language: str) -> str:
    first = group[0]
    names = list(dict.fromkeys(prefix + name for item in group if (name := name_of(item.text))))
    anchor = re.sub(r"[^\w]+", "-", names[0]).strip("-").lower()
    common = prefix or ("scanloom_" if language == "c" else "")
    label = ", ".join(name.removeprefix(common) for name in names[:4]) if common else ""
    parts = [markdown_text.heading(level, names, anchor, label)]
    parts.append(markdown_text.code("\n".join(declared(item) for item in group), language))
    parts += [markdown_text.escape(item.doc) + "\n" for item in group if item.doc]
    if is_class(first):
        inner = items(public_part(first.text.partition("{")[2].rpartition("}")[0]))
        parts.append(write_items(inner, level + 1, f"{name_of(first.text)}::", language))
    return "\n".join(parts)


def write_note(text: str, prefix: str) -> str:
    """Returns a comment on the declarations after it: a line in a class, else a heading."""
    if prefix:
        return f"*{markdown_text.escape(' '.join(text.split()))}*\n"
    title = re.split(r"[.,;:]", text)[0]
    rest = "" if text.rstrip(".") == title else markdown_text.escape(text) + "\n"
    return f"## {markdown_text.escape(title)}\n\n{rest}" if len(title) <= 50 else rest


def write_items(found: list[Item], level: int, prefix: str, language: str) -> str:
    parts = []
    for group in groups([item for item in found if not is_left_out(item)]):
        if group[0].section:
            parts.append(f"## {group[0].section}\n")
        elif not group[0].text:
            parts.append(write_note(group[0].doc, prefix))
        else:
            parts.append(write_group(group, level, prefix, language))
    return "\n".join(parts)


def is_left_out(item: Item) -> bool:
    """Whether it is a forward declaration, or only matters to the compiler."""
    text = item.text.strip()
    return bool(text) and bool(
        re.match(r"^(class|struct) \w+;|^static_assert|^template class|^template <> inline", text)
        or "operator=(" in text
        or re.match(r"^inline constexpr int k", text)
        or "= default;" in text and "(" not in text.split("=")[0]
    )


def header_page(path: pathlib.Path, language: str) -> str:
    """Returns the page of one header; "" if it declares nothing."""
    head, rest = introduction(expand_lists(path.read_text(encoding="utf-8"), path.parent))
    found = items(rest)
    if not any(item.text and not is_left_out(item) for item in found):
        return ""
    include = markdown_text.code(f"#include <scanloom/{path.name}>", language)
    has_sections = "\n## " in (body := "\n" + write_items(found, 3, "", language))
    if not has_sections:
        body = write_items(found, 2, "", language)
    elif not body.lstrip().startswith("## "):
        body = f"## Types\n{body}"
    return markdown_text.unique_anchors(f"# {path.name}\n\n{include}\n{markdown_text.escape(head)}\n\n{body}")


def is_c(path: pathlib.Path) -> bool:
    return 'extern "C"' in path.read_text(encoding="utf-8")


def pages(include: pathlib.Path) -> dict[str, str]:
    """Returns the pages as Markdown: one per header, an index table, and the body of the C page."""
    made, rows = {}, []
    for path in sorted([*include.glob("*.h"), *include.glob("*.hpp")]):
        if is_c(path):
            made["c"] = header_page(path, "c").removeprefix(f"# {path.name}\n\n")
        elif page := header_page(path, "cpp"):
            made[f"cpp/{path.stem}"] = page
            head, _ = introduction(path.read_text(encoding="utf-8"))
            rows.append(f"| [{path.name}]({path.stem}.md) | {markdown_text.escape(summary(head))} |\n")
    made["cpp/index"] = "| header | what it holds |\n|---|---|\n" + "".join(rows)
    return made


def summary(head: str) -> str:
    """Returns the first sentence of an introduction."""
    return re.split(r"(?<=[.;])\s", " ".join(head.split()))[0].rstrip(";")
