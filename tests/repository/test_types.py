"""The type checker checks most modules, and the stubs agree with what Python imports."""

import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STUBS = [ROOT / f"{name}/__init__.pyi" for name in ("gridcut", "assign", "matching")]
STUBS += sorted((ROOT / "apps").glob("*/__init__.pyi"))
TYPED = (
    "README.md",
    *(f"docs/guide/{name}.md" for name in ("segment", "session", "refine", "denoise", "flow", "graphs")),
)
STRICT = ["--strict", "--config-file=", "--ignore-missing-imports", "--follow-imports=silent"]
WRONG = """import apps
import numpy as np
found: apps.Segmentation = apps.segment(np.zeros((9, 9)), box=(1, 1, 8, 8))
found.masks
apps.segment(np.zeros((9, 9)), boxes=(1, 1, 8, 8))
"""


@pytest.mark.parametrize("stub", STUBS, ids=lambda stub: stub.parent.name)
def test_stub_exports_what_the_package_exports(stub):
    package = import_module(".".join(stub.parent.relative_to(ROOT).parts))
    listed = re.search(r"__all__ = \[(.*?)\]", stub.read_text("utf-8"), re.DOTALL)[1]
    assert re.findall(r'"(\w+)"', listed) == package.__all__


@pytest.mark.slow
def test_examples_pass_the_strict_checker_of_a_user(tmp_path):
    """Those of README and of the guide, without the settings of this project; mistakes in a call are found."""
    pytest.importorskip("mypy", reason="mypy is not installed (extra 'dev')")
    (tmp_path / "wrong.py").write_text(WRONG, "utf-8")
    for page in TYPED:
        found = re.findall(r"^```python\n(.*?)^```$", (ROOT / page).read_text("utf-8"), re.MULTILINE | re.DOTALL)
        for number, code in enumerate(found if page == "README.md" else found[:1]):  # the others continue the first
            (tmp_path / f"{Path(page).stem}{number}.py").write_text(code, "utf-8")
    command = [sys.executable, "-m", "mypy", *STRICT, f"--cache-dir={tmp_path / 'cache'}", str(tmp_path)]
    done = subprocess.run(
        command, capture_output=True, text=True, env=os.environ | {"MYPYPATH": str(ROOT)}, cwd=tmp_path
    )
    errors = re.findall(r"^(\w+)\.py:(\d+): error", done.stdout, re.MULTILINE)
    assert errors == [("wrong", "4"), ("wrong", "5")], done.stdout + done.stderr
