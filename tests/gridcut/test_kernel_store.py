"""Cached kernels: keyed by all sources, read only from private folders, compiled again if damaged."""

import os
import pickle
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from gridcut.device import kernel_store
from tests.tiers import in_quick_tier

ROOT = Path(__file__).resolve().parents[2]
OTHER_USER = 65534

PACKAGE = {
    "__init__.py": "",
    "rule.py": "from gridcut.device import kernel\n@kernel\ndef rule(x):\n    return x + 1\n",
    "use.py": "from gridcut.device import kernel\nfrom box.rule import (\n    rule,\n)\n"
    "@kernel\ndef use(x):\n    return rule(x)\n",
    "other.py": "from gridcut.device import kernel\n@kernel\ndef other(x):\n    return -x\n",
}
CODE = """
import sys
sys.path.insert(0, {path!r})
from box.use import use
from box.other import other
print(use(1), other(1), sum(use.stats.cache_hits.values()), sum(other.stats.cache_hits.values()))
"""


@pytest.fixture
def box(tmp_path):
    """A package with three kernels, and a function that runs them: use(1), other(1), and their cache hits."""
    (tmp_path / "box").mkdir()
    for name, text in PACKAGE.items():
        (tmp_path / "box" / name).write_text(text)
    os.chmod(tmp_path, 0o755)

    def run(code=CODE, **environment):
        environment.setdefault("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
        # Bytecode is kept for a file of the same size and second, so an edit within a second might not be seen.
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(code).format(path=str(tmp_path))],
            env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
            capture_output=True,
            text=True,
            cwd=environment.get("PWD", "/"),
        )
        assert done.returncode == 0, done.stderr
        run.warnings = done.stderr
        return [int(number) for number in done.stdout.split()]

    run.folder = tmp_path
    run.files = lambda: sorted((tmp_path / "cache" / "cutmatch-kernels").glob("*.nbc"))
    return run


COLD, WARM = [2, -1, 0, 0], [2, -1, 1, 1]


def test_a_kernel_is_compiled_once(box):
    assert box() == COLD
    assert box() == WARM
    assert box(CUTMATCH_CACHE="0") == COLD


@pytest.mark.slow
def test_saved_kernels_find_what_they_call(box):
    """Memory, sets and their hashes, LAPACK, functions of NumPy and C, exceptions."""
    (box.folder / "box" / "many.py").write_text(
        "import math\nimport numpy as np\nfrom gridcut.device import kernel\n"
        "@kernel\ndef many(values):\n"
        "    distinct = set()\n"
        "    for value in values:\n"
        "        distinct.add((value % 3, value % 2))\n"
        "    inverse = np.linalg.inv(np.eye(2) * 4.0)\n"
        "    if values[0] < 0:\n"
        "        raise ValueError('negative')\n"
        "    return len(distinct) + round(inverse[0, 0] * 100 + math.erf(9.0) + np.sort(values)[-1] + math.pow(2, 3))\n"
    )
    code = """
    import sys
    sys.path.insert(0, {path!r})
    import numpy as np
    from box.many import many
    value, raised = many(np.arange(12)), 0
    try:
        many(np.arange(-1, 3))
    except ValueError:
        raised = 1
    print(value, raised, sum(many.stats.cache_hits.values()))
    """
    assert box(code) == [6 + 25 + 1 + 11 + 8, 1, 0]
    assert box(code) == [6 + 25 + 1 + 11 + 8, 1, 1]


def test_an_edited_callee_is_never_run_from_the_cache(box):
    assert box() == COLD
    rule = box.folder / "box" / "rule.py"
    rule.write_text(PACKAGE["rule.py"].replace("+ 1", "+ 100"))
    assert box() == [101, -1, 0, 1], "only the kernels that can reach the edited file are compiled again"
    rule.write_text(PACKAGE["rule.py"])
    assert box() == WARM, "the code of the earlier version is still there"


def test_code_of_a_source_that_is_edited_before_the_first_call_is_not_saved(box):
    edit = """
    from pathlib import Path
    import box.use
    Path(box.use.__file__).with_name("rule.py").write_text(
        "from gridcut.device import kernel\\n@kernel\\ndef rule(x):\\n    return x + 100\\n"
    )
    """
    first, rest = textwrap.dedent(CODE).split("from box.use", 1)
    assert box(first + textwrap.dedent(edit) + "from box.use" + rest) == COLD
    assert box() == [101, -1, 0, 1]


@pytest.mark.slow
def test_code_of_other_types_is_not_run_from_the_cache(box):
    """A file under the name of another kernel or of other types is not used."""
    assert box() == COLD
    files = box.files()
    use, other = (next(f for f in files if f.name.startswith(f"box.{name}-")) for name in ("use", "other"))
    kept = use.read_bytes()
    use.write_bytes(other.read_bytes())
    other.write_bytes(kept)
    assert box() == COLD
    assert box() == WARM


def garble(content):
    content[100:] = os.urandom(len(content) - 100)


@pytest.mark.parametrize("damage", in_quick_tier((garble, bytearray.clear), lambda damage: damage is garble))
def test_damaged_files_are_compiled_again(box, damage):
    assert box() == COLD
    for path in box.files():
        content = bytearray(path.read_bytes())
        damage(content)
        path.write_bytes(content)
    assert box() == COLD
    assert box() == WARM, "the damaged files have been replaced"


class Payload:
    """A pickle that creates a file when it is loaded."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return (open, (self.path, "w"))


def write_payload(box, *, sign: bool) -> Path:
    """Put an object that runs code into every file of the cache; the file that it would create."""
    import hashlib

    evidence = box.folder / "evidence"
    body = pickle.dumps(Payload(evidence))
    for path in box.files():
        path.write_bytes(kernel_store.MAGIC + hashlib.sha256(body).digest() + body if sign else body)
    return evidence


@pytest.mark.slow
def test_a_signed_payload_runs_from_a_private_folder(box):
    """The effect that the tests below check is visible: a signed file of this user is loaded."""
    box()
    evidence = write_payload(box, sign=True)
    assert box() == COLD
    assert evidence.exists()


@pytest.mark.slow
def test_an_unsigned_file_is_not_unpickled(box):
    box()
    evidence = write_payload(box, sign=False)
    assert box() == COLD
    assert not evidence.exists()


def give_away(*paths):
    for path in paths:
        os.chown(path, OTHER_USER, OTHER_USER)


def move_behind_links(box):
    for path in box.files():
        path.rename(path.with_suffix(".moved"))
        path.symlink_to(path.with_suffix(".moved"))


root_only = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")
# What keeps a signed payload from being loaded, by changes of the files.
UNSAFE = {
    "files of another user": lambda box: give_away(*box.files()),
    "files that others may write": lambda box: [path.chmod(0o666) for path in box.files()],
    "links": move_behind_links,
}


@pytest.mark.parametrize(
    "unsafe", [pytest.param(name, marks=[root_only] * ("another user" in name)) for name in UNSAFE]
)
def test_files_that_another_user_may_have_written_are_not_loaded(box, unsafe):
    box()
    evidence = write_payload(box, sign=True)
    UNSAFE[unsafe](box)
    assert box()[:2] == COLD[:2]
    assert not evidence.exists()


@pytest.mark.slow
def test_files_are_created_private(box):
    box("import os\nos.umask(0)\n" + CODE)
    assert box.files()
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in box.files())


@pytest.mark.slow
def test_without_a_cache_folder_kernels_still_run(box):
    (box.folder / "file").write_text("")
    assert box(NUMBA_CACHE_DIR=str(box.folder / "file" / "below"), HOME="/nonexistent") == COLD
    assert box.warnings == ""


def test_a_full_disk_leaves_no_partial_file(monkeypatch, tmp_path):
    path = tmp_path / "kernel.nbc"
    kernel_store.write(path, b"data")
    assert kernel_store.read(path, private=True) == b"data"

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space"):
        kernel_store.write(path, b"newer")
    assert kernel_store.read(path, private=True) == b"data"
    assert list(tmp_path.iterdir()) == [path], "nothing half-written remains"
