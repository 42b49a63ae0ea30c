"""The programs as functions: `apps.segment(image)` works whatever was imported before, and in every order."""

import copy
import inspect
import pickle
import subprocess
import sys
from pathlib import Path
from typing import get_type_hints

import numpy as np
import pytest

import apps

ROOT = Path(__file__).parents[2]
FUNCTIONS = {
    "denoise": "apps.denoise.restoration.denoise",
    "flow": "apps.flow.dense_flow.flow",
    "match": "apps.match.wide_baseline.match_wide",
    "refine": "apps.refine.refinement.refine",
    "segment": "apps.segment.segmentation.segment",
    "stereo": "apps.stereo.disparities.stereo",
    "superpixels": "apps.superpixels.regions.superpixels",
    "track": "apps.track.tracking.track",
}
IN_EVERY_ORDER = """
import sys
from itertools import permutations

statements = (
    "import apps",
    "import apps.segment",
    "import apps.segment.segment_command",
    "from apps import segment",
    "from apps.segment import KEEP, segment_labels",
    "from apps.segment.terms import UNIT",
)
tried = 0
for order in permutations(statements[int(sys.argv[1]) :]):
    for name in [name for name in sys.modules if name == "apps" or name.startswith("apps.segment")]:
        del sys.modules[name]
    names = {}
    for statement in order:
        exec(statement, names)
        if "apps" in names:
            assert callable(names["apps"].segment), order
    assert names["segment"] is names["apps"].segment is sys.modules["apps.segment"], order
    assert callable(names["apps"].segment.segment_command.main), order
    tried += 1
print(tried, names["segment"].segment_labels.__name__)
"""


def function_of(name):
    module, _, function = FUNCTIONS[name].rpartition(".")
    return getattr(__import__(module, fromlist=[function]), function)


def test_all_programs_are_listed():
    results = {get_type_hints(function_of(name))["return"].__name__ for name in FUNCTIONS}
    assert sorted(apps.__all__) == sorted({"Session", *results, *FUNCTIONS})
    assert all(inspect.isclass(getattr(apps, name)) for name in results)
    commands = {path.parent.name for path in (ROOT / "apps").glob("*/*_command.py")}
    assert commands - {"app", "warmup"} == set(FUNCTIONS), "these two are for commands only"
    assert all(f"`{name}`" in apps.__doc__ for name in FUNCTIONS)


@pytest.mark.slow  # imports everything once per order
@pytest.mark.parametrize(("left_out", "orders"), [(2, 24), (0, 720)])
def test_every_order_of_imports(left_out, orders):
    """Of all statements, or of those that remain without the first few."""
    code = [sys.executable, "-c", IN_EVERY_ORDER, str(left_out)]
    done = subprocess.run(code, capture_output=True, text=True, cwd=ROOT)
    assert (done.stdout.split(), done.returncode) == ([str(orders), "segment_labels"], 0), done.stderr


@pytest.mark.parametrize("name", FUNCTIONS)
def test_packages_are_called_like_their_functions(name):
    package, function = getattr(apps, name), function_of(name)
    assert inspect.ismodule(package)
    assert package is sys.modules[f"apps.{name}"]
    assert inspect.signature(package) == inspect.signature(function)
    assert getattr(package, function.__name__) is function
    assert f"`apps.{name}(...)` is `{function.__name__}(...)`" in package.__doc__


@pytest.mark.parametrize("name", FUNCTIONS)
def test_packages_are_pickled_by_name(name):
    package = getattr(apps, name)
    assert pickle.loads(pickle.dumps(package)) is package
    assert copy.deepcopy(package) is package


def test_arguments_and_results_are_those_of_the_function():
    image = np.zeros((24, 32, 3), np.uint8)
    image[6:18, 8:24] = 200
    found = apps.segment(image, box=(6, 4, 26, 20), device="cpu")
    assert type(found) is apps.segment.Segmentation
    assert found.mask[12, 16]
    assert not found.mask[0, 0]
    with pytest.raises(TypeError, match="unexpected keyword"):
        apps.segment(image, boxes=3)
    assert len(apps.track([np.zeros((1, 2))] * 2, search_range=1.0)) == 1


def test_importing_is_light():
    code = "import sys, apps; apps.segment; print(sorted({'numba', 'cv2', 'skimage', 'numpy'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.slow
def test_type_checkers_see_functions(tmp_path):
    api = pytest.importorskip("mypy.api")
    lines = ["import apps", "import apps.segment.segment_command", "from apps.segment import segment_labels, KEEP"]
    lines += [f"from apps import {name}\nreveal_type({name})\nreveal_type(apps.{name})" for name in FUNCTIONS]
    (tmp_path / "caller.py").write_text("\n".join(lines))
    arguments = ["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(tmp_path / "cache")]
    out, error, status = api.run([*arguments, str(tmp_path / "caller.py")])
    assert status == 0, out + error
    shown = [line for line in out.splitlines() if "Revealed type" in line]
    assert len(shown) == 2 * len(FUNCTIONS)
    assert all('"def (' in line for line in shown)
