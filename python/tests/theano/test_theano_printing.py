"""Expressions as text and pictures, and test values."""

import io
import shutil
import sys
import xml.etree.ElementTree

import numpy as np
import pytest

import scanloom as theano
import scanloom.tensor as T

BAD = (TypeError, ValueError)


def loop():
    x, w = T.vector("x"), theano.shared(2.0, "w")
    rows, _ = theano.scan(lambda e, s: T.tanh(s * w) + e, x, T.zeros(()), name="cell")
    cost = ((rows - 1) ** 2).sum()
    cost.name = "cost"
    return x, w, cost


def test_debugprint():
    x, w, cost = loop()
    text = theano.printing.debugprint(cost, file="str")
    for name in ("cell", "cost", "x", "w", "tanh", "carried", "scanned"):
        assert name in text
    f = theano.function([x], cost)
    assert theano.printing.debugprint(f, file="str") == text
    file = io.StringIO()
    assert theano.printing.debugprint([cost, x], file=file, print_type=True) is None
    assert "<float64[?]>" in file.getvalue()
    assert len(theano.printing.debugprint(cost, depth=1, file="str").splitlines()) < len(
        text.splitlines()
    )
    with pytest.raises(BAD):
        theano.printing.debugprint(3)


def test_debugprint_writes_to_standard_output(capsys):
    theano.printing.debugprint(T.vector("visible") + 1)
    assert "visible" in capsys.readouterr().out


def test_long_chains_are_printed():
    x = T.scalar("x")
    y = x
    for _ in range(5000):
        y = y + 1
    assert theano.printing.debugprint(y, file="str").count("add") == 5000
    assert theano.pprint(y)


def test_pprint():
    x, y = T.vector("x"), T.scalar("y")
    assert theano.pprint(x * 2 + y) == "((x * 2) + y)"
    assert theano.printing.pprint(-x) == "-x"
    assert theano.pprint(T.exp(x)) == "exp(x)"
    assert "cell" in theano.pprint(loop()[2])


def test_pictures(tmp_path):
    x, w, cost = loop()
    f = theano.function([x], [cost, T.grad(cost, w)])
    for draw, obj in (
        (theano.printing.pydotprint, f),
        (theano.printing.plot, cost),
        (theano.printing.plot, [x, cost]),
    ):
        path = tmp_path / "graph.svg"
        draw(obj, path) if draw is theano.printing.plot else draw(obj, outfile=path)
        root = xml.etree.ElementTree.parse(path).getroot()
        texts = {element.text for element in root.iter() if element.text}
        assert root.tag.endswith("svg")
        assert {"x", "scanned", "carried", "loop{cell}"} <= texts
        path.unlink()
    with pytest.raises(BAD):
        theano.printing.plot(cost, str(tmp_path / "graph.jpg"))


def with_a_program(folder, monkeypatch, text):
    """A `dot` that runs this text of Python."""
    program = folder / "dot"
    program.write_text(f"#!{sys.executable}\n{text}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))


def test_pictures_by_graphviz(tmp_path, monkeypatch):
    _, _, cost = loop()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(theano.NotFound, match="not installed(.|\n)*svg"):
        theano.printing.pydotprint(cost, outfile=tmp_path / "graph.png")
    theano.printing.plot(cost, tmp_path / "graph.dot")
    text = (tmp_path / "graph.dot").read_text()
    assert text.startswith("digraph {") and text.count("{") == text.count("}")
    assert "scanned" in text and "loop{cell}" in text and "subgraph" in text
    with_a_program(
        tmp_path, monkeypatch, "import sys; print(sys.argv[1], len(sys.stdin.read()), end='')"
    )
    theano.printing.pydotprint(cost, outfile=tmp_path / "graph.png")
    assert (tmp_path / "graph.png").read_text() == f"-Tpng {len(text)}"
    with_a_program(tmp_path, monkeypatch, "import sys; sys.exit('no fonts')")
    with pytest.raises(ValueError, match="no fonts"):
        theano.printing.pydotprint(cost, outfile=tmp_path / "other.pdf")
    assert not (tmp_path / "other.pdf").exists()


@pytest.mark.skipif(shutil.which("dot") is None, reason="needs Graphviz")
def test_graphviz_takes_what_is_written(tmp_path):
    x, w, cost = loop()
    theano.printing.plot([cost, T.grad(cost, w)], tmp_path / "graph.png")
    assert (tmp_path / "graph.png").read_bytes().startswith(b"\x89PNG")


@pytest.fixture
def test_values():
    theano.config.compute_test_value = "raise"
    yield
    theano.config.compute_test_value = "off"


def test_test_values(test_values):
    x, w = T.vector("x"), theano.shared(np.arange(3.0))
    x.tag.test_value = np.ones(3)
    y = x + w
    np.testing.assert_array_equal(y.tag.test_value, [1, 2, 3])
    rows, _ = theano.scan(lambda e, s: s + e, y, T.zeros(()))
    np.testing.assert_array_equal(rows.tag.test_value, [1, 3, 6])
    with pytest.raises(ValueError):
        x + np.ones(4)
    with pytest.raises(AttributeError, match="lonely"):
        T.vector("lonely") + 1


def test_missing_test_values_warn_on_request():
    theano.config.compute_test_value = "warn"
    try:
        with pytest.warns(UserWarning, match="lonely"):
            T.vector("lonely") + 1
    finally:
        theano.config.compute_test_value = "off"
    with pytest.raises(ValueError):
        theano.config.compute_test_value = "perhaps"
