"""The documents hold together: links and anchors lead somewhere, and the site lists every page.

MkDocs checks the site that it builds (make docs). This needs nothing but Python, and follows the
links in the source tree, where the documents are read as well.
"""

import pathlib
import re
import subprocess
import sys

import pytest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
DOCS = PROJECT / "docs"
FILES = sorted([*PROJECT.glob("*.md"), *DOCS.rglob("*.md"), *PROJECT.glob("examples/*.md")])
NAMES = [path.relative_to(PROJECT).as_posix() for path in FILES]


def prose(path):
    """A document without its blocks of code."""
    return re.sub(r"^(```|~~~).*?^\1$", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)


def links(path):
    text = re.sub(r"`[^`\n]*`", lambda code: "`" * len(code[0]), prose(path))
    return re.findall(r"\]\(<?([^)\s>]+)>?(?: \"[^\"]*\")?\)", text)


def anchor(heading):
    """The anchor that a heading has, on the site and in viewers of source trees."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
    return re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")


def anchors(path):
    found = set()
    for heading in re.findall(r"^#{1,6} (.+?) *#*$", prose(path), re.M):
        name, count = anchor(heading), 0
        while (made := f"{name}-{count}" if count else name) in found:
            count += 1
        found.add(made)
    return found | set(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", prose(path)))


def pages_of_the_site():
    """The pages that `nav` of mkdocs.yml lists, of docs/ and others."""
    config = (PROJECT / "mkdocs.yml").read_text(encoding="utf-8")
    nav = config[re.search(r"^nav:$", config, re.M).end():]
    return re.findall(r"^ *- (?:.*: )?([\w./-]+\.md)$", nav, re.M)


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_links_and_anchors(path):
    for link in links(path):
        if "://" in link or link.startswith("mailto:"):
            continue
        target, _, part = link.partition("#")
        file = (path.parent / target).resolve() if target else path
        assert file.exists(), f"{link}: there is no {target}"
        assert file.is_relative_to(PROJECT), f"{link} leads out of the source tree"
        if part:
            assert file.suffix == ".md", f"{link}: only headings of documents have anchors"
            assert part in anchors(file), f"{link}: the headings are {sorted(anchors(file))}"


@pytest.mark.parametrize("path", sorted(DOCS.glob("internals/*.md")), ids=lambda path: path.name)
def test_paths_that_the_pages_on_internals_name_exist(path):
    for name in re.findall(r"`((?:src|include|python|tests|tools)/[\w./-]*)`", path.read_text(encoding="utf-8")):
        assert (PROJECT / name).exists(), name
    for names in re.findall(r"^<!-- files of (.*) -->$", path.read_text(encoding="utf-8"), re.M):
        for name in names.split():
            sources = [*(PROJECT / name).glob("*.cpp"), *(PROJECT / name).glob("*.py")]
            assert sources, f"{name} has no sources"


def test_the_site_lists_every_page():
    listed = pages_of_the_site()
    assert len(listed) == len(set(listed)), "a page is listed twice"
    pages = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    assert not pages - set(listed), "add these pages to nav in mkdocs.yml"


def made_by_the_site():
    """The pages that the hooks of the site make, without MkDocs and without the package."""
    sys.path.insert(0, str(PROJECT / "tools" / "docs"))
    import cpp_reference

    source = (PROJECT / "tools" / "docs" / "site_hooks.py").read_text(encoding="utf-8")
    documents = re.search(r"^DOCUMENTS = \{\n(.*?)^\}", source, re.M | re.S)[1]
    made = set(re.findall(r': "([\w/.-]+\.md)"', documents))
    made |= {f"examples/{path.name}.md" for path in (PROJECT / "examples").iterdir()}
    return made | {f"reference/{name}.md" for name in cpp_reference.pages(PROJECT / "include/scanloom")}


def test_every_page_that_the_site_lists_exists():
    made = made_by_the_site()
    for page in pages_of_the_site():
        if not page.startswith("reference/python/"):  # made of the package, checked by make docs
            assert page in made or (DOCS / page).is_file(), f"there is no {page}"
    listed = set(pages_of_the_site())
    unlisted = {page for page in made if page.startswith("reference/")} - listed
    assert not unlisted, "add these pages to nav in mkdocs.yml"


def test_every_drawing_is_shown_and_has_a_title():
    shown = {(path.parent / link).resolve() for path in FILES for link in links(path)}
    drawings = sorted(DOCS.glob("drawings/*.svg"))
    assert drawings
    for drawing in drawings:
        text = drawing.read_text(encoding="utf-8")
        assert drawing in shown, f"no document shows {drawing.name}"
        assert "<title>" in text and "prefers-color-scheme: dark" in text, drawing.name
        assert "<text" in text, f"{drawing.name}: text is drawn as text"


def test_drawings_are_what_the_script_draws(tmp_path):
    subprocess.run([sys.executable, DOCS / "drawings" / "draw.py", tmp_path], check=True)
    for drawing in DOCS.glob("drawings/*.svg"):
        assert drawing.read_text() == (tmp_path / drawing.name).read_text(), "run docs/drawings/draw.py"


def test_a_broken_link_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# One\n\n## Two `x`, three\n\n[a](#two-x-three) `[b](none.md)`\n\n```\n[c](no)\n```\n")
    assert links(page) == ["#two-x-three"]
    assert anchors(page) == {"one", "two-x-three"}


def test_setup_knows_the_tools_of_the_site():
    usage = subprocess.run([PROJECT / "tools/dev/setup.sh", "--help"], capture_output=True, text=True)
    assert "docs" in usage.stdout
