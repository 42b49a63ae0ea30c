"""Results that are folders are written completely or not at all."""

from pathlib import Path

import pytest

from apps.common.errors import OutputError
from apps.common.writing import written_folder


def test_a_folder_is_replaced_as_a_whole(tmp_path):
    for content in ("old", "new"):
        with written_folder(tmp_path / "a.zarr") as folder:
            (folder / content).write_text(content)
    assert [path.name for path in (tmp_path / "a.zarr").iterdir()] == ["new"]
    assert [path.name for path in tmp_path.iterdir()] == ["a.zarr"]


def test_an_error_leaves_the_old_folder(tmp_path):
    with written_folder(tmp_path / "a.zarr") as folder:
        (folder / "old").write_text("old")
    with pytest.raises(ValueError, match="stopped"), written_folder(tmp_path / "a.zarr") as folder:
        raise ValueError("stopped")
    assert [path.name for path in (tmp_path / "a.zarr").iterdir()] == ["old"]
    assert [path.name for path in tmp_path.iterdir()] == ["a.zarr"]


def test_a_failed_rename_restores_the_old_folder(tmp_path, monkeypatch):
    with written_folder(tmp_path / "a.zarr") as folder:
        (folder / "old").write_text("old")
    rename = Path.rename

    def failing(path, target):
        if (path / "new").exists():
            raise OSError(5, "Input/output error")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", failing)
    with (
        pytest.raises(OutputError, match="--out: cannot write .*a.zarr"),
        written_folder(tmp_path / "a.zarr") as folder,
    ):
        (folder / "new").write_text("new")
    assert [path.name for path in (tmp_path / "a.zarr").iterdir()] == ["old"]


def test_a_file_of_the_name_is_reported(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="--out: cannot write"), written_folder(tmp_path / "file" / "a.zarr"):
        pass
