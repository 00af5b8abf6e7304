"""The page of reports in a real browser: no errors, no requests, usable by keyboard, quick."""

from __future__ import annotations

import functools
import http.server
import json
import pathlib
import sys
import threading
from collections.abc import Iterator

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from places import SHARED, SHARED_ABSENT

import browser
import scanloom
import scanloom.tensor as T

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from test_report import HOSTILE, feeds, needs_page, sums_model  # noqa: E402

pytestmark = [pytest.mark.skipif(browser.PROGRAM is None, reason=browser.ABSENT), needs_page]


@pytest.fixture(scope="module")
def chromium() -> Iterator[browser.Browser]:
    with browser.Browser() as page:
        yield page


def shown(chromium: browser.Browser, report: scanloom.Report, folder: pathlib.Path) -> browser.Browser:
    """Opens the report; nothing may have gone wrong before."""
    path = folder / "report.html"
    report.save(path)
    chromium.problems.clear()
    chromium.requests.clear()
    chromium.open(path)
    assert chromium.problems == []
    assert chromium.requests == [path.resolve().as_uri()]
    return chromium


def lstm_with_gradient() -> scanloom.Report:
    units = 8
    x = T.tensor3("x")
    random = np.random.default_rng(3)
    w = scanloom.shared(random.standard_normal((4, 4 * units)), "w")
    u = scanloom.shared(random.standard_normal((units, 4 * units)), "u")

    def step(row, h, c):  # type: ignore[no-untyped-def]
        gates = T.dot(row, w) + T.dot(h, u)
        i, f, g, o = (gates[:, k * units : (k + 1) * units] for k in range(4))
        c = T.nnet.sigmoid(f) * c + T.nnet.sigmoid(i) * T.tanh(g)
        return T.nnet.sigmoid(o) * T.tanh(c), c

    start = T.zeros((x.shape[1], units))
    (h, _), _ = scanloom.scan(step, sequences=x, outputs_info=[start, start])
    cost = (h[-1] ** 2).mean()
    f = scanloom.function([x], [cost, *scanloom.grad(cost, [w, u])], name="lstm")
    return f.report(random.standard_normal((20, 2, 4)))


def test_a_function_with_its_gradient(chromium: browser.Browser, tmp_path: pathlib.Path) -> None:
    page = shown(chromium, lstm_with_gradient(), tmp_path)
    assert page.run("document.title") == "lstm - Scanloom"
    assert page.run("document.querySelectorAll('article.loop').length") == 2
    assert page.run("document.querySelectorAll('#time .bar').length") >= 3
    assert page.run("document.querySelectorAll('#memory .buffer').length") > 3
    page.run("set_all_open(true)")
    assert page.run("graph.boxes.size") > 40
    assert page.problems == []


@pytest.mark.skipif(not SHARED.is_dir(), reason=SHARED_ABSENT)
def test_a_voice_detector(chromium: browser.Browser, tmp_path: pathlib.Path) -> None:
    session = scanloom.InferenceSession(SHARED / "silero_vad.onnx")
    given = {"input": np.zeros((1, 512), np.float32), "state": np.zeros((2, 1, 128), np.float32),
             "sr": np.array(16000, np.int64)}
    page = shown(chromium, session.report(given), tmp_path)
    before = page.run("graph.boxes.size")
    page.run("set_all_open(true)")
    assert page.run("graph.boxes.size") > before + 20
    page.run("search('lstm')")
    assert "LSTM" in page.run("graph.details.textContent")
    assert page.problems == []


def test_a_stream(chromium: browser.Browser, tmp_path: pathlib.Path) -> None:
    stream = scanloom.InferenceSession(sums_model(tmp_path / "m.onnx")).stream()
    stream.push(feeds(7))
    page = shown(chromium, stream.report(), tmp_path)
    assert "kept now" in page.run("document.getElementById('stream').textContent")
    assert "[2]" in page.run("document.getElementById('stream').textContent")
    assert page.run("[...document.querySelectorAll('#code [role=tab]')].map((tab) => tab.textContent).join()") == \
        "Python,C++"
    assert "stream.push" in page.run("document.getElementById('code-python').textContent")
    assert page.problems == []


def test_the_page_says_how_to_get_the_roof(
    chromium: browser.Browser, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCANLOOM_MACHINE", str(tmp_path / "machine.txt"))
    session = scanloom.InferenceSession(sums_model(tmp_path / "m.onnx"))
    page = shown(chromium, session.report(feeds()), tmp_path)
    text = page.run("document.getElementById('loops').textContent")
    assert "this machine has not been measured. scanloom bench --calibrate measures it" in text
    (tmp_path / "machine.txt").write_text("cpu another\nisa avx2\noperations 1e9\nread 1024 1e10\n")
    assert session.report(feeds()).data["machine"] is None


def test_hostile_names_run_nothing(chromium: browser.Browser, tmp_path: pathlib.Path) -> None:
    session = scanloom.InferenceSession(sums_model(tmp_path / "m.onnx", HOSTILE))
    page = shown(chromium, session.report({"start": np.zeros(2, np.float32),
                                           HOSTILE: np.ones((9, 2), np.float32)}, title=HOSTILE), tmp_path)
    page.run("set_all_open(true)")
    page.run("for (const node of report.nodes) show_node(node.id)")
    assert page.run("document.getElementById('title').textContent").startswith("</script><script>")
    assert page.run("document.scripts.length") == 4  # the data, two libraries, our own
    assert page.problems == []


def test_by_keyboard(chromium: browser.Browser, tmp_path: pathlib.Path) -> None:
    session = scanloom.InferenceSession(sums_model(tmp_path / "m.onnx"))
    page = shown(chromium, session.report(feeds()), tmp_path)
    page.run("graph.boxes.get(graph.focused).element.focus()")
    page.press("ArrowDown")
    assert "loop" in page.run("document.activeElement.getAttribute('aria-label')")
    assert page.run("document.activeElement.getAttribute('aria-expanded')") == "false"
    page.press("Enter")
    assert page.run("document.activeElement.getAttribute('aria-expanded')") == "true"
    assert "add" in page.run("[...graph.boxes.values()].map((item) => item.lines[0].text).join()")
    # One box of the graph takes part in the order of Tab, whatever is open.
    assert page.run("graph.svg.querySelectorAll('[tabindex=\"0\"]').length") == 1
    page.press("Enter")
    assert page.run("document.activeElement.getAttribute('aria-expanded')") == "false"
    page.run("document.querySelector('#time .bar').focus()")
    page.press("Enter")
    page.run("document.getElementById('tab-python').focus()")
    page.press("ArrowRight")
    assert page.run("document.activeElement.id") == "tab-cpp"
    assert page.run("[...document.querySelectorAll('.panel')].map((each) => each.hidden).join()") == "true,false,true"
    assert page.problems == []


def test_everything_has_a_name(chromium: browser.Browser, tmp_path: pathlib.Path) -> None:
    """What a screen reader announces: no control and no picture without words."""
    session = scanloom.InferenceSession(sums_model(tmp_path / "m.onnx"))
    page = shown(chromium, session.report(feeds()), tmp_path)
    nodes = page.ask("Accessibility.getFullAXTree")["nodes"]
    roles = ("button", "link", "textbox", "searchbox", "checkbox", "tab", "tabpanel", "img", "image", "region", "heading")
    named = [each for each in nodes if not each.get("ignored") and each["role"].get("value") in roles]
    assert len(named) > 25
    assert [each for each in named if not each.get("name", {}).get("value")] == []
    assert page.run("document.documentElement.lang") == "en"


def test_prints_all_programs(chromium: browser.Browser, tmp_path: pathlib.Path) -> None:
    session = scanloom.InferenceSession(sums_model(tmp_path / "m.onnx"))
    page = shown(chromium, session.report(feeds()), tmp_path)
    assert page.pdf().startswith(b"%PDF")
    page.ask("Emulation.setEmulatedMedia", media="print")
    assert page.run("[...document.querySelectorAll('.panel')].every((each) => each.offsetHeight > 0)")
    page.ask("Emulation.setEmulatedMedia", media="")


def test_paper_shows_everything(tmp_path: pathlib.Path) -> None:
    """The whole graph, wrapped programs and the explanation, dark on light."""
    with browser.Browser(720, 1000, dark=True) as page:
        shown(page, lstm_with_gradient(), tmp_path)
        page.run("set_all_open(true)")
        before = page.run("graph.layer.getAttribute('transform')")
        page.ask("Emulation.setEmulatedMedia", media="print",
                 features=[{"name": "prefers-color-scheme", "value": "dark"}])
        page.run("dispatchEvent(new Event('beforeprint'))")
        assert luminance(page.run("getComputedStyle(document.body).backgroundColor")) > 0.9
        assert page.run("document.documentElement.scrollWidth") <= 720
        assert page.run("[...document.querySelectorAll('pre')].every((each) => each.scrollWidth <= each.clientWidth)")
        assert page.run("document.querySelector('#explain pre').offsetHeight") > 50
        outside = """(() => {
          const stage = graph.svg.getBoundingClientRect();
          return [...graph.boxes.values()].map((item) => item.element.getBoundingClientRect()).filter((box) =>
            box.left < stage.left - 1 || box.right > stage.right + 1 || box.bottom > stage.bottom + 1).length;
        })()"""
        assert page.run(outside) == 0
        page.run("dispatchEvent(new Event('afterprint'))")
        assert page.run("graph.layer.getAttribute('transform')") == before
        assert not page.run("document.querySelector('#explain details').open")
        assert page.problems == []


@pytest.fixture
def notebook(tmp_path: pathlib.Path) -> Iterator[str]:
    """The address of a page that shows a report as notebooks do."""
    session = scanloom.InferenceSession(sums_model(tmp_path / "m.onnx"))
    frame = session.report(feeds())._repr_html_()
    (tmp_path / "favicon.ico").touch()
    (tmp_path / "notebook.html").write_text(f"<!doctype html><p>A cell.</p>{frame}")

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Says nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=tmp_path)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        host, port = server.server_address[:2]
        yield f"http://{host}:{port}/notebook.html"
        server.shutdown()


def test_links_in_a_notebook(notebook: str) -> None:
    """The frame has the address of the notebook; links must not load that."""
    with browser.Browser() as page:
        page.open_frame(notebook)
        for link, target in (("nav a:nth-child(4)", "loops"), ("nav a:nth-child(3)", "time"),
                             (".skip", "summary"), ("#loops td a", "loop-")):
            page.run(f"document.querySelector('{link}').focus()")
            page.press("Enter")
            page.wait_for(f"document.activeElement.id.startsWith('{target}')")
            box = page.run("(() => { const box = document.activeElement.getBoundingClientRect();"
                           " return [box.top, innerHeight]; })()")
            assert -1 <= box[0] < box[1]
            page.run(f"document.querySelector('{link}').click()")
        assert page.run("location.href") == "about:srcdoc"
        assert page.run("document.documentElement.dataset.ready") == "yes"
        assert page.problems == []


def test_links_of_a_file_change_its_address(chromium: browser.Browser, tmp_path: pathlib.Path) -> None:
    session = scanloom.InferenceSession(sums_model(tmp_path / "m.onnx"))
    page = shown(chromium, session.report(feeds()), tmp_path)
    page.run("document.querySelector('nav a:nth-child(5)').click()")
    assert page.run("location.hash") == "#memory"
    assert page.problems == []


def test_words_of_tables_are_not_broken(tmp_path: pathlib.Path) -> None:
    with browser.Browser(1280, 900) as page:
        shown(page, lstm_with_gradient(), tmp_path)
        cells = "[...document.querySelectorAll('#time td:nth-child(2), #loops td:last-child')]"
        assert page.run(f"{cells}.length") > 5
        assert page.run(f"{cells}.every((cell) => cell.scrollWidth <= cell.clientWidth)")
        assert page.run(f"{cells}.filter((cell) => !cell.textContent.includes(' '))"
                        ".every((cell) => cell.getBoundingClientRect().height < 40)")


def test_what_was_made_up_and_names_that_turn_the_text(chromium: browser.Browser, tmp_path: pathlib.Path) -> None:
    data = scanloom.InferenceSession(sums_model(tmp_path / "m.onnx")).report(feeds(), title="a\u202eb").data
    data["made_up"] = {"values": ["max_len"], "sizes": ["T\u2066"]}
    page = shown(chromium, scanloom.Report(json.dumps(data)), tmp_path)
    text = page.run("document.getElementById('summary').textContent")
    assert "Random numbers were fed to 'max_len'" in text and "The size 1 was taken for 'T\\u2066'" in text
    assert page.run("document.title") == "a\\u202eb - Scanloom"
    assert not page.run(r"/[\u202a-\u202e\u2066-\u2069]/.test(document.body.innerText)")
    assert page.problems == []


def luminance(colour: str) -> float:
    parts = [int(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    linear = [part / 12.92 if part <= 0.04 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("dark", [False, True])
def test_text_is_readable(dark: bool, chromium: browser.Browser, tmp_path: pathlib.Path) -> None:
    session = scanloom.InferenceSession(sums_model(tmp_path / "m.onnx"))
    page = shown(chromium, session.report(feeds()), tmp_path)
    page.ask("Emulation.setEmulatedMedia",
             features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
    style = "getComputedStyle(document.querySelector('{}')).{}"
    back = luminance(page.run(style.format("body", "backgroundColor")))
    assert (back < 0.1) == dark
    for what, colour in (("body", "color"), (".soft", "color"), ("nav a", "color"), ("svg text.head", "fill")):
        text = luminance(page.run(style.format(what, colour)))
        contrast = (max(text, back) + 0.05) / (min(text, back) + 0.05)
        assert contrast >= 4.5, (what, contrast)
    page.ask("Emulation.setEmulatedMedia", features=[])


def long_chain(path: pathlib.Path, count: int) -> pathlib.Path:
    """`count` nodes one after another that passes leave alone, all of which read w."""
    nodes = [helper.make_node("MatMul" if i % 2 else "Tanh", [f"v{i}", "w"] if i % 2 else [f"v{i}"],
                              [f"v{i + 1}"], name=f"node_{i}") for i in range(count)]
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes, "chain", [info("v0", TensorProto.FLOAT, [4, 4]), info("w", TensorProto.FLOAT, [4, 4])],
        [info(f"v{count}", TensorProto.FLOAT, [4, 4])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 16)], ir_version=8), path)
    return path


def test_five_thousand_nodes_stay_usable(chromium: browser.Browser, tmp_path: pathlib.Path) -> None:
    """What takes time is laying out boxes and drawing elements: both are few, whatever is open."""
    session = scanloom.InferenceSession(long_chain(tmp_path / "m.onnx", 5000))
    given = {name: np.zeros((4, 4), np.float32) for name in ("v0", "w")}
    page = shown(chromium, session.report(given), tmp_path)
    page.run("""{
      const plain = lay_out;
      globalThis.laid_out = [];
      lay_out = (contents) => { laid_out.push(contents.items.length); plain(contents); };
    }""")

    def expect_little_work(largest: int, most: int) -> None:
        assert page.run("Math.max(...laid_out)") <= largest
        assert page.run("laid_out.splice(0).length") <= 3
        assert page.run("document.getElementById('graph').querySelectorAll('*').length") < most

    assert page.run("report.nodes.length") == 5000
    page.run("redraw()")
    assert 50 < page.run("graph.boxes.size") < 100
    expect_little_work(100, 1000)
    page.run("show_node(report.nodes[2500].id)")
    assert page.run("graph.boxes.get(graph.chosen).node.id") == page.run("report.nodes[2500].id")
    expect_little_work(100, 2000)
    page.run("search('node_4')")
    assert "1,111 nodes" in page.run("graph.details.textContent")
    assert page.run("graph.details.querySelectorAll('li').length") == 200
    assert page.problems == []


def test_data_of_another_schema(chromium: browser.Browser, tmp_path: pathlib.Path) -> None:
    """A page that is made from data of a newer version says so instead of staying empty."""
    data = scanloom.InferenceSession(sums_model(tmp_path / "m.onnx")).report().data
    path = tmp_path / "report.html"
    for changed, said in (({**data, "schema": 2}, "schema 2"), ({"title": "x"}, "have none")):
        scanloom.Report(json.dumps(changed)).save(path)
        chromium.problems.clear()
        with pytest.raises(AssertionError, match="This page shows data of schema 1"):
            chromium.open(path)
        text = chromium.run("document.querySelector('main').textContent")
        assert said in text
        assert "Make the page with the version of Scanloom that made the data." in text
    chromium.problems.clear()


def covered(page: browser.Browser, bars: str) -> float:
    """The share of the width of their picture that these elements cover, where some may overlap."""
    spans = page.run(f"[...document.querySelectorAll('{bars}')].map((each) => each.getBoundingClientRect())"
                     ".map((box) => [box.left, box.right])")
    left, right = page.run(f"(() => {{ const box = document.querySelector('{bars}').closest('svg')"
                           ".getBoundingClientRect(); return [box.left, box.right]; })()")
    end, total = left, 0.0
    for first, last in sorted(spans):
        total += max(0.0, last - max(first, end))
        end = max(end, last)
    return total / (right - left)


def test_naming_the_nodes_is_no_part_of_the_run(tmp_path: pathlib.Path) -> None:
    """The times of 5,000 small nodes make up most of the run that timed them."""
    session = scanloom.InferenceSession(long_chain(tmp_path / "m.onnx", 5000))
    given = {name: np.zeros((4, 4), np.float32) for name in ("v0", "w")}
    runs = [session.report(given).data["run"] for _ in range(5)]
    assert max(sum(row["seconds"] for row in run["rows"]) / run["seconds"] for run in runs) > 0.2


def test_what_is_too_narrow_to_see_is_drawn_together(chromium: browser.Browser, tmp_path: pathlib.Path) -> None:
    """5,000 nodes of equal time: a quarter of a pixel for each."""
    session = scanloom.InferenceSession(long_chain(tmp_path / "m.onnx", 5000))
    data = session.report({name: np.zeros((4, 4), np.float32) for name in ("v0", "w")}).data
    for row in data["run"]["rows"]:
        row["seconds"] = 1e-6
    data["run"]["seconds"] = 1e-6 * len(data["run"]["rows"])
    page = shown(chromium, scanloom.Report(json.dumps(data)), tmp_path)
    bars = "#time .bar:not(:first-child)"
    assert 20 < page.run(f"document.querySelectorAll('{bars}').length") < 400
    assert covered(page, bars) > 0.99
    assert covered(page, "#memory .buffer") > 0.9
    assert page.run("document.querySelectorAll('#memory .buffer').length") < 1000
    # A block that is chosen fills the width, with its nodes as bars of their own.
    page.run(f"document.querySelectorAll('{bars}')[3].dispatchEvent(new MouseEvent('click'))")
    names = page.run("[...document.querySelectorAll('#time .bar title')].map((each) => each.textContent)")
    assert names[0].startswith("run") and len(names) > 20
    assert all(name.startswith("node 'node_") for name in names[1:])
    assert "rows, " in page.run("document.querySelector('#time p[aria-live]').textContent")
    assert page.problems == []


def test_a_narrow_screen(tmp_path: pathlib.Path) -> None:
    session = scanloom.InferenceSession(sums_model(tmp_path / "m.onnx", "a_long_name_of_a_sequence"))
    fed = {"start": np.zeros(2, np.float32), "a_long_name_of_a_sequence": np.ones((9, 2), np.float32)}
    with browser.Browser(390, 844) as page:
        shown(page, session.report(fed), tmp_path)
        assert page.run("document.documentElement.scrollWidth") <= 390
        # No word stands letter by letter, and the text of charts keeps its size.
        cells = "[...document.querySelectorAll('th:not(.number), td:not(.number)')]"
        assert page.run(f"Math.min(...{cells}.filter((each) => each.textContent).map((each) => each.clientWidth))") > 40
        scale = "(svg) => svg.getBoundingClientRect().width / svg.viewBox.baseVal.width"
        assert page.run(f"Math.min(...[...document.querySelectorAll('svg.chart')].map({scale}))") > 0.9
        assert page.problems == []


@pytest.mark.parametrize("width, least", [(390, 1.0), (1400, 0.8)])
def test_the_text_of_a_graph_is_readable(width: int, least: float, tmp_path: pathlib.Path) -> None:
    """A graph that does not fit at this scale shows its upper end, not small letters or a gap."""
    inside = """(() => {
      const stage = graph.svg.getBoundingClientRect();
      return [...graph.boxes.values()].map((item) => item.element.getBoundingClientRect()).filter((box) =>
        box.left >= stage.left && box.right <= stage.right && box.top >= stage.top && box.top < stage.bottom).length;
    })()"""
    with browser.Browser(width, 844) as page:
        shown(page, lstm_with_gradient(), tmp_path)
        for is_open in ("false", "true"):
            page.run(f"set_all_open({is_open})")
            assert page.run("d3.zoomTransform(graph.svg).k") >= least
            assert page.run(inside) >= 2
            assert page.run("document.documentElement.scrollWidth") <= width
        assert page.problems == []


def test_an_empty_graph_fits(chromium: browser.Browser, tmp_path: pathlib.Path) -> None:
    data = scanloom.InferenceSession(sums_model(tmp_path / "m.onnx")).report().data
    data["regions"] = [{"id": 0, "name": "", "args": [], "nodes": [], "yields": []}]
    data["nodes"], data["values"], data["inputs"], data["outputs"] = [], [], [], []
    page = shown(chromium, scanloom.Report(json.dumps(data)), tmp_path)
    assert np.isfinite(page.run("d3.zoomTransform(graph.svg).x"))
    page.run("graph.svg.parentElement.style.display = 'none'; fit()")
    assert np.isfinite(page.run("d3.zoomTransform(graph.svg).x"))
    assert page.problems == []
