"""The scripts of the gallery run without a warning, and show a figure."""

from pathlib import Path

import pytest

GALLERY = Path(__file__).resolve().parents[2] / "docs/gallery"


@pytest.mark.slow
@pytest.mark.parametrize("script", sorted(GALLERY.rglob("plot_*.py")), ids=lambda path: path.stem)
def test_the_script_runs(script, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    plt = pytest.importorskip("matplotlib.pyplot")
    names = {"__name__": "__main__"}
    try:
        exec(compile(script.read_text("utf-8"), str(script), "exec"), names)
        assert plt.get_fignums()
        for number in plt.get_fignums():
            plt.figure(number).savefig(f"{number}.png")  # draws everything
    finally:
        plt.close("all")
