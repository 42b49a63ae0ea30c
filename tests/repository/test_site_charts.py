"""Charts and tables of the site show every row of their results, and ratios follow the names of rows."""

import importlib.util
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = sorted(page.name for page in DOCS.glob("benchmarks/*.md") if "<!-- chart" in page.read_text("utf-8"))


@pytest.fixture(scope="module")
def charts():
    spec = importlib.util.spec_from_file_location("charts", DOCS / "charts.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", PAGES)
def test_every_chart_is_drawn(charts, page):
    text = (DOCS / "benchmarks" / page).read_text("utf-8")
    drawn = charts.with_charts(text)
    assert "<!-- chart" not in drawn
    assert drawn.count("<figure") == text.count("<!-- chart")
    assert drawn.count('role="listitem"') >= 3


def test_bars_of_ratios_have_the_line_of_one(charts):
    bars = charts.read("gridcut-cpu", ["instance"], "ratio, 1")
    drawn = charts.with_charts("<!-- chart gridcut-cpu | instance | ratio, 1 | Ratio -->")
    assert drawn.count('role="listitem"') == len(bars) == 14
    assert 0 < float(drawn.split("--one: ")[1].split("%")[0]) < 100
    with pytest.raises(ValueError, match="no table of gridcut-cpu has the columns instance, gone"):
        charts.read("gridcut-cpu", ["instance"], "gone")
