"""The benchmark of many images: they differ, and no row is printed for a run whose files do."""

import pytest
from PIL import Image

from benchmarks import scale


@pytest.fixture
def commands(monkeypatch):
    """Stands in for the commands: writes one file, and keeps their arguments."""
    calls = []

    def run(program, folder, out, how):
        calls.append([program, out.name, *how])
        out.mkdir(exist_ok=True)
        (out / "00.png").write_text("other" if run.wrong and how[:2] == ["--workers", "2"] else "same")
        return 2.0 if how[1] == "1" else 1.0

    run.wrong = False
    monkeypatch.setattr(scale, "run", run)
    monkeypatch.setattr(scale, "make_images", lambda folder, count: None)
    return run, calls


def test_images_differ(tmp_path):
    scale.make_images(tmp_path, 12)
    images = {path.name: Image.open(path) for path in (tmp_path / "photos").iterdir()}
    assert len(images) == 12
    assert len({image.tobytes() for image in images.values()}) == 12


def test_rows(commands, capsys):
    _, calls = commands
    assert scale.main(["--images", "2", "--repeats", "2", "--programs", "denoise"]) == 0
    rows = [[cell.strip() for cell in line.split("|")] for line in capsys.readouterr().out.splitlines()]
    rows = {row[2]: row[3:6] for row in rows if row[1:2] == ["denoise"]}
    assert rows["--workers 1"] == ["✓", "2.00", "1.00"]
    assert rows["--workers 2"] == ["✓", "1.00", "2.00"]
    resumed = [arguments for arguments in calls if "--resume" in arguments]
    assert {arguments[1] for arguments in resumed} == {"denoise-2"}, "the folder that --workers 2 filled"


def test_other_files_are_no_result(commands, capsys):
    commands[0].wrong = True
    with pytest.raises(AssertionError, match="--workers 2: other files"):
        scale.main(["--repeats", "1", "--programs", "segment"])
    assert "✓" not in capsys.readouterr().out
