"""Options of the commands that name an output file, and values that no command accepts."""

from importlib import import_module
from inspect import signature

import numpy as np
import pytest
from PIL import Image

from apps import cli, denoise, flow, match, refine, segment, segment_volume, stereo, superpixels, track


@pytest.fixture
def photos(tmp_path, monkeypatch):
    """Two small images, a mask, a matrix and a table in the current folder."""
    monkeypatch.chdir(tmp_path)
    for n, name in enumerate("ab"):
        Image.fromarray(np.full((6, 8), 40 * n + 40, np.uint8)).save(f"{name}.png")
    (tmp_path / "masks").mkdir()
    Image.fromarray(np.uint8(255) * (np.arange(48).reshape(6, 8) % 8 < 4)).save("masks/a.png")
    (tmp_path / "a.mtx").write_text("%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 1\n")
    (tmp_path / "d.csv").write_text("frame,x,y\n0,1,1\n1,1,1\n")
    return tmp_path


@pytest.mark.parametrize(
    ("command", "inputs", "library", "own"),
    [
        ("segment", 1, segment, {"strokes", "trimap", "box"}),
        ("segment", 1, segment_volume, {"keep", "spacing"}),
        ("refine", 2, refine, {"image", "masks"}),
        ("superpixels", 1, superpixels, {"threads"}),
        ("denoise", 1, denoise, {"binary"}),
        ("stereo", 2, stereo, set()),
        ("flow", 2, flow, {"matches"}),
        ("match", 2, match, set()),
        ("track", 1, track, {"memory", "predict", "search_range"}),
    ],
)
def test_options_default_to_those_of_the_library(command, inputs, library, own):
    """Except for `own`: inputs, and options whose defaults depend on others."""
    options = import_module(cli.COMMANDS[command]).PROGRAM.parser().parse_args(["a"] * inputs)
    defaults = {name: p.default for name, p in signature(library).parameters.items() if p.default is not p.empty}
    shared = defaults.keys() & vars(options).keys() - own
    assert "device" in shared
    assert {name: str(getattr(options, name)) for name in shared} == {name: str(defaults[name]) for name in shared}


PLAIN = {  # a line of each command that would succeed
    "segment": ["a.png", "--box", "1,1,4,4"],
    "segment a folder": [".", "--box", "1,1,4,4"],
    "refine": ["a.png", "masks/a.png"],
    "superpixels": ["a.png", "--regions", "4"],
    "denoise": ["a.png"],
    "stereo": ["a.png", "b.png"],
    "flow": ["a.png", "b.png"],
    "match": ["a.png", "b.png"],
    "track": ["d.csv"],
    "matching": ["a.mtx"],
}


@pytest.mark.parametrize("line", PLAIN)
def test_a_missing_gpu_is_reported_once(photos, line, rejects, monkeypatch):
    monkeypatch.setattr("gridcut.device.choose.cuda_is_available", lambda: False)
    rejects([line.split()[0], *PLAIN[line], "--device", "cuda"], ".*use device='cpu' or 'auto'", photos)


@pytest.mark.parametrize(("line", "meant"), [("--strat m.png", "--start"), ("--stroks=s.png", "--strokes")])
def test_an_unknown_option_suggests_the_one_that_was_meant(capsys, line, meant):
    with pytest.raises(SystemExit):
        cli.main(["segment", "a.png", *line.split()])
    assert f"unrecognized arguments: {line}; did you mean {meant}?" in capsys.readouterr().err
