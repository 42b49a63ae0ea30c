"""The examples of README.md, docs/guide and docs/coming-from run as they are printed, from the root of a clone.

The Python of a page is run from top to bottom in one namespace, and the lines of its shell blocks that start with
`cutmatch`, in one copy of data/, after the demo, and each page twice.  Other shell lines are commands of this
repository, whose names are checked, or of pip.
A comment before a block says why it is not run: <!-- needs a GPU -->, a cluster, a display, or <!-- takes minutes -->.
"""

import contextlib
import importlib
import re
import shlex
import shutil
from pathlib import Path

import pytest

from apps.cli import main

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(
    r"(<!-- (?:needs a (?:GPU|cluster|display)|takes minutes) -->\n)?^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
EXTRAS = {"dask": "distributed", "SimpleITK": "SimpleITK", "pandas": "pandas", "volume.nii": "nibabel"}
PAGES = [ROOT / "README.md", ROOT / "docs/index.md", *sorted((ROOT / "docs").glob("guide/*.md"))]
PAGES += sorted((ROOT / "docs").glob("coming-from/*.md"))
BENCHMARKS = {path.stem for path in (ROOT / "benchmarks").glob("*.py")}


def blocks(page: Path, language: str) -> list[str]:
    """Code of a page that runs everywhere."""
    found = BLOCK.findall(page.read_text("utf-8"))
    return [code for needs, kind, code in found if kind == language and not needs]


def commands(page: Path) -> list[list[str]]:
    """Words of the shell lines of a page, continued lines joined, without comments."""
    lines = [line for code in blocks(page, "sh") for line in code.replace("\\\n", " ").splitlines()]
    return [words for line in lines if (words := shlex.split(line, comments=True))]


def with_examples(language: str):
    return [pytest.param(page, id=page.stem) for page in PAGES if blocks(page, language)]


def filled(folder: Path) -> Path:
    """The folder with the sample files, as the root of a clone has them."""
    shutil.copytree(ROOT / "data", folder / "data")
    (folder / "out").mkdir()
    return folder


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """A clone, which is the working directory."""
    monkeypatch.chdir(filled(tmp_path))
    monkeypatch.setenv("MPLBACKEND", "Agg")


@pytest.fixture(scope="module")
def tried(tmp_path_factory):
    """A clone in which the demo has been run."""
    folder = filled(tmp_path_factory.mktemp("clone"))
    with contextlib.chdir(folder):
        assert main(["demo", "--quiet"]) == 0
    assert any((folder / "out").rglob("*.png"))
    return folder


def needed(text: str) -> None:
    """Skip if an optional library that a text uses is not installed."""
    for word, module in EXTRAS.items():
        if word in text:
            pytest.importorskip(module)


@pytest.mark.slow
@pytest.mark.parametrize("page", with_examples("python"))
def test_python_runs(page, clone):
    names = {"__name__": "__main__"}
    for code in blocks(page, "python"):
        needed(code)
        exec(compile(code, f"{page.name}", "exec"), names)


@pytest.mark.slow
@pytest.mark.parametrize("page", with_examples("sh"))
def test_commands_run(page, tried, monkeypatch, capsys):
    """Twice, since a command replaces what it wrote, but for files that options name outside its folder."""
    monkeypatch.chdir(tried)
    for program, *arguments in commands(page) * 2:
        if program == "cutmatch" and arguments[0] != "demo":  # which `tried` has run
            needed(" ".join(arguments))
            more = ["--quiet"] if arguments[0] not in ("info", "warmup", "demo") else []
            more += ["--overwrite"] * any(option in arguments for option in ("--json", "--report", "--video"))
            status = main([*arguments, *more])
            assert status == 0, f"{shlex.join(arguments)}: {capsys.readouterr().err}"


@pytest.mark.parametrize("page", with_examples("sh"))
def test_other_commands_exist(page):
    for words in commands(page):
        if words[:2] == ["python", "-m"] and words[2] == "benchmarks":
            assert words[3] in BENCHMARKS, words
        elif words[:2] == ["python", "-m"]:
            assert importlib.util.find_spec(words[2]), words
        else:
            assert words[0] in ("cutmatch", "pip", "pipx", "uvx", "./run"), words
