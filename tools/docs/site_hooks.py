"""MkDocs hooks (mkdocs.yml): add pages from outside docs/ and redirect links to them.

The documents in the root folder, the examples and the reference become pages, too. Links are
written for the source tree; those that leave docs/ are redirected to these pages.
"""

import pathlib
import posixpath
import re
import sys

from mkdocs.structure.files import File

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import cpp_reference  # noqa: E402
import file_tables  # noqa: E402
import operator_reference  # noqa: E402
import python_reference  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENTS = {
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "LICENSE": "license.md",
    "examples/README.md": "examples/index.md",
}
# The page that represents a folder or file of the source tree that is not a page itself.
PLACES = {
    "README.md": "index.md",
    "examples": "examples/index.md",
}
LANGUAGES = {".py": "python", ".cpp": "cpp", ".c": "c"}
_NAV: list = []  # the pages of `nav`, whose titles links show
_ADDED: dict[str, str] = {}  # text to append to pages of docs/, by path
_TABLE = re.compile(r"<table>.*?</table>", re.S)
_LONG_CODE = 18  # characters; longer code in a table may break into lines
_LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\]]*\])*\]\()([^)\s]+)(\))")


def example_pages() -> dict[str, str]:
    """Returns a page for each program in examples/, by its path in the site."""
    made = {}
    for path in sorted((ROOT / "examples").iterdir()):
        if path.suffix in LANGUAGES:
            text = path.read_text(encoding="utf-8").rstrip()
            made[f"examples/{path.name}.md"] = (
                f"# {path.name}\n\n```{LANGUAGES[path.suffix]}\n{text}\n```\n")
    return made


def root_pages() -> dict[str, str]:
    made = {}
    for source, page in DOCUMENTS.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        made[page] = text if source.endswith(".md") else f"# License\n\n```text\n{text}```\n"
    return made


def on_files(files, config):
    generated = {**root_pages(), **example_pages()}
    reference = {**cpp_reference.pages(ROOT / "include" / "scanloom"), **python_reference.pages()}
    reference["operators"] = operator_reference.page(ROOT / "src" / "ops")
    generated.update({f"reference/{name}.md": text for name, text in reference.items()})
    for page, text in generated.items():
        if files.get_file_from_path(page):
            _ADDED[page] = text
            continue
        files.append(File.generated(config, page, content=text))
    return files


def on_nav(nav, config, files):
    _NAV[:] = nav.pages
    return nav


def tree_path(page: str) -> str:
    """Returns the path in the source tree that corresponds to a page of the site."""
    sources = {target: source for source, target in DOCUMENTS.items()}
    return sources.get(page, f"docs/{page}")


def redirected(target: str, page: str, known: set[str]) -> str:
    """Returns the link in the form that the page of the site needs."""
    path, _, anchor = target.partition("#")
    if not path or "://" in target or target.startswith("mailto:"):
        return target
    source = posixpath.normpath(posixpath.join(posixpath.dirname(tree_path(page)), path))
    found = PLACES.get(source) or DOCUMENTS.get(source)
    if found is None and source.startswith("docs/"):
        found = source.removeprefix("docs/")
    if found is None and f"{source}.md" in known:
        found = f"{source}.md"
    if found is None or found not in known:
        return target  # MkDocs reports it
    relative = posixpath.relpath(found, posixpath.dirname(page) or ".")
    return f"{relative}#{anchor}" if anchor else relative


def titled(label: str, target: str, page: str, titles: dict[str, str]) -> str:
    """Returns the text of a link: the page's title instead of its file name, which readers of the
    source tree see."""
    if not re.fullmatch(r"[\w/.-]+\.md", label):
        return label
    path = posixpath.normpath(posixpath.join(posixpath.dirname(page), target.partition("#")[0]))
    return titles.get(path, label)


def on_page_markdown(markdown, page, config, files):
    source = page.file.src_uri
    if source.startswith("reference/") or (source.startswith("examples/") and source != "examples/index.md"):
        return f"{markdown}\n{_ADDED.get(source, '')}"
    known = {each.src_uri for each in files}
    titles = {item.file.src_uri: item.title for item in _NAV if item.title}

    def link(match: re.Match) -> str:
        target = redirected(match[2], source, known)
        label = match[1].removesuffix("](").removeprefix("[")
        shown = titled(label, target, source, titles)
        return f"{match[1] if shown == label else f'[{shown}]('}{target})"

    parts = re.split(r"(^```.*?^```$)", file_tables.filled_in(markdown, ROOT), flags=re.M | re.S)
    return "".join(
        part if part.startswith("```")
        else _LINK.sub(link, part)
        for part in parts)


def on_page_content(html, page, config, files):
    """Lets long code in tables break at blanks and after punctuation; short code, and options
    anywhere, stay on one line."""

    def mark(code: re.Match) -> str:
        if "<" in code[1] or len(re.sub(r"&\w+;", "x", code[1])) <= _LONG_CODE:
            return code[0]
        parts = re.sub(r'(?<=[(._=/])(?![)."])', "<wbr>", code[1])
        return f'<code class="long">{parts}</code>'

    html = re.sub(r"<code>(--[\w-]+)</code>", r'<code class="option">\1</code>', html)
    return _TABLE.sub(lambda table: re.sub(r"<code>(.*?)</code>", mark, table[0], flags=re.S), html)
