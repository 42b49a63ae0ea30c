"""A bad input fails alone: the others of a batch are finished, in every command and engine."""

import json
import os
import signal
from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from apps import cli
from apps.denoising import denoise_command as denoise
from apps.many import records
from apps.many.task import FAILED, SKIPPED, Task, attempt
from apps.point_matching import match_command as match
from apps.stereo_matching import stereo_command as stereo
from tests.apps import worker_jobs


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """p/ with good.png and one bad file of each kind; strokes/ with the same names."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    image = np.full((16, 20, 3), 200, np.uint8)
    image[:, :10] = 40
    image += rng.integers(0, 9, image.shape, np.uint8)
    marks = np.zeros((16, 20), np.uint8)
    marks[:, :3], marks[:, -3:] = 1, 2
    for name in ("p", "strokes", "rights"):
        (tmp_path / name).mkdir()
    p = tmp_path / "p"
    Image.fromarray(image).save(p / "good.png")
    Image.fromarray(image).save(tmp_path / "rights" / "good.png")
    (p / "empty.png").touch()
    (p / "folder.png").mkdir()
    (p / "nowhere.png").symlink_to("gone")
    (p / "four.tif").write_bytes(b"II*\0")
    os.mkfifo(p / "fifo.png")
    (p / "zero.png").symlink_to("/dev/zero")
    for path in p.iterdir():
        Image.fromarray(marks).save(tmp_path / "strokes" / f"{path.stem}.png")
    return tmp_path


WRONG = ("empty.png", "fifo.png", "folder.png", "four.tif", "nowhere.png", "zero.png")


@pytest.mark.parametrize(
    "line",
    [
        "denoise p",
        "denoise p --resume",
        "denoise p --workers 1",
        "superpixels p --regions 9",
        "segment p --strokes strokes",
        "segment p --box 3,3,17,13",
        "segment p --label-strokes strokes",
        "stereo p rights --max-disparity 4",
    ],
)
def test_each_bad_input_has_its_line_and_the_good_one_is_done(folder, capsys, line):
    assert cli.main([*line.split(), "--json", "r.json", "--device", "cpu"]) == 1
    captured = capsys.readouterr()
    assert "1 done, " in captured.out
    assert f"{len(WRONG)} failed" in captured.out
    report = json.loads((folder / "r.json").read_text("utf-8"))
    failed = report["failures"]
    assert len(failed) == len(WRONG)
    for name, failure in zip(WRONG, failed, strict=True):
        shown = failure.get("image", failure.get("pair"))
        assert name in shown
        assert f"{shown}: " in captured.err
        assert "defect" not in failure["error"]
    assert "Traceback" not in captured.err


def test_special_files_alone_are_rejected_quickly(folder, capfd):
    """Without reading them, which would take forever; the alarm ends the process of the tests then."""
    for line in (
        "denoise p/fifo.png",
        "denoise p/good.png --mask p/zero.png",
        "segment p/good.png --box p/fifo.json",
        "stereo p/good.png p/fifo.png",
        "match p/fifo.png p/good.png",
        "flow p/good.png p/zero.png",
        "track p/fifo.csv",
        "track p/zero.png",
        "track p/fifo.avi",
        "matching p/fifo.mtx",
    ):
        if "fifo." in line and not (name := Path(next(w for w in line.split() if "fifo" in w))).exists():
            os.mkfifo(name)
        signal.alarm(120)
        assert cli.main(line.split()) == 2, line
        signal.alarm(0)
        error = capfd.readouterr().err
        assert error.count("\n") == 1
        assert "regular file" in error, line


def test_a_missing_partner_fails_its_pair_only(folder, capsys):
    for name in ("fifo.png", "zero.png", "folder.png"):
        path = folder / "p" / name
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    for program in (stereo, match):
        status = program.main(["p", "rights", "--json", "r.json", "--overwrite"])
        assert status == 1
        failures = json.loads((folder / "r.json").read_text("utf-8"))["failures"]
        missing = [failure for failure in failures if "has no file named" in failure["error"]]
        assert [failure["pair"] for failure in missing] == ["p/empty.png", "p/four.tif", "p/nowhere.png"]
        assert len(capsys.readouterr().err.splitlines()) >= 3


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_unreadable_inputs(folder, capsys):
    (folder / "p" / "empty.png").chmod(0)
    assert denoise.main(["p"]) == 1
    assert "Permission denied" in capsys.readouterr().err
    (folder / "p").chmod(0)
    assert denoise.main(["p"]) == 2
    assert "cannot read the folder 'p' (Permission denied)" in capsys.readouterr().err
    (folder / "p").chmod(0o700)


def test_names_that_are_too_long(folder, capsys):
    long = "n" * 300
    assert denoise.main(["p/good.png", f"{long}.png"]) == 1
    assert "File name too long" in capsys.readouterr().err
    for line in (
        f"denoise {long}.png",
        f"denoise p/good.png --mask {long}",
        f"denoise p/good.png --out {long}",
        f"denoise p/good.png --json {long}.json",
        f"superpixels p/good.png --truth {long}.png",
        f"segment p/good.png --box {long}.json",
        f"stereo {long} {long}",
        f"match p/good.png {long}",
        f"flow {long} {long}",
        f"flow {long}",
        f"track {long}.csv",
        f"track {long}",
        f"matching {long}.mtx",
        f"info --json {long}.json",
        f"demo --out {long}",
    ):
        assert cli.main(line.split()) == 2, line
        error = capsys.readouterr().err
        assert error.count("\n") == 1
        assert "defect" not in error, line
        assert error.startswith(f"cutmatch {line.split()[0]}: ")
    fits = "n" * 251
    (folder / "p" / "good.png").rename(folder / f"{fits}.png")
    assert denoise.main([f"{fits}.png", "--out", "new"]) == 2, "its results do not fit"
    assert "File name too long" in capsys.readouterr().err
    assert not (folder / "new").exists()


@pytest.mark.parametrize("stem", [".", ".."])
def test_a_stem_of_dots_writes_into_out(folder, stem):
    name = f"{stem}.png"
    (folder / "rights" / "good.png").rename(folder / name)
    (folder / "strokes" / "good.png").rename(folder / "s.png")
    (folder / "rights").rmdir()
    (folder / "strokes" / "empty.png").rename(folder / "r.png")
    before = set(folder.rglob("*"))
    for line in (f"denoise {name}", f"segment {name} --label-strokes s.png", f"stereo {name} {name} --max-disparity 4"):
        assert cli.main([*line.split(), "--out", "deep/out"]) == 0
    made = set(folder.rglob("*")) - before
    assert all(path.is_relative_to(folder / "deep") for path in made)
    results = {path.name for path in made if path.is_file() and ".cutmatch" not in path.parts}
    stem = Path(name).stem  # on Python 3.14 with the suffix, because the name has nothing but dots before it
    assert {f"{stem}-restored.png", f"{stem}-labels.png", f"{stem}-disparity.png"} <= results
    assert {path.parent for path in made if path.name in results} == {folder / "deep" / "out"}


@pytest.fixture
def record(tmp_path):
    """A finished task, and a function that changes its record, repeats the task and returns the outcome."""
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "in" / "a.txt").write_text("text")
    chosen = Namespace(out=str(tmp_path / "out"), resume=True, record=False, device="cpu")
    task = Task(0, "a", "a", "copy", worker_jobs.copy, tmp_path / "in" / "a.txt", chosen, ())
    assert attempt(task).status == "done"
    assert attempt(task).status == SKIPPED
    path = tmp_path / "out" / ".cutmatch" / "copy" / "a.json"

    def again(change):
        content = json.loads(path.read_text("utf-8"))
        change(content)
        path.write_text(json.dumps(content))
        return attempt(task)

    return again


FORGED = {
    "report above": lambda r: r["report"]["files"].update(out=r["out"] + "/../escaped.out"),
    "report elsewhere": lambda r: r["report"]["files"].update(out="/etc/passwd"),
    "report in another folder": lambda r: r["report"]["files"].update(out=r["out"] + "/sub/a.out"),
    "report of what is not recorded": lambda r: r["report"]["files"].update(more=r["out"] + "/b.out"),
    "outputs above": lambda r: r["outputs"].update({"../in/a.txt": records.digest_of(Path(r["out"], "../in/a.txt"))}),
    "absolute outputs": lambda r: r["outputs"].update({"/etc/hosts": records.digest_of(Path("/etc/hosts"))}),
    "outputs of another kind": lambda r: r.update(outputs=["a.out"]),
    "no outputs": lambda r: r.update(outputs={}),
    "files of another kind": lambda r: r["report"].update(files=["a.out"]),
}


@pytest.mark.parametrize("case", FORGED)
def test_a_forged_record_is_rejected(record, case):
    outcome = record(FORGED[case])
    assert outcome.status == "done", "done again, not skipped"
    assert record(lambda content: None).status == SKIPPED


def test_errors_while_inputs_are_found_do_not_end_a_batch(folder, capsys, monkeypatch):
    for error, status in ((OSError(5, "Input/output error", "p/four.tif"), 1), (KeyError("a mistake"), 70)):
        job = denoise.job_of

        def breaks(chosen, options, path, job=job, error=error):
            if path.stem == "four":
                raise error
            return job(chosen, options, path)

        with monkeypatch.context() as patch:
            patch.setattr(denoise, "job_of", breaks)
            assert denoise.main(["p", "--overwrite"]) == status
        captured = capsys.readouterr()
        assert "1 done, 6 failed" in captured.out
        assert ("cannot use 'p/four.tif' (Input/output error)" in captured.err) == (status == 1)


def test_a_failed_item_is_not_retried_for_a_special_file(folder):
    chosen = Namespace(out="out", resume=False, record=False, device="cpu")
    outcome = attempt(Task(0, "a", "a", "copy", worker_jobs.copy, folder / "p" / "fifo.png", chosen, ()))
    assert (outcome.status, outcome.retry, outcome.defect) == (FAILED, False, False)
    assert "not a regular file" in outcome.reason
