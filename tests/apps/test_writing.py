"""Files are written atomically, under unpredictable temporary names, and existing modes are kept."""

import errno
import os
import stat
import subprocess

import numpy as np
import pytest

from apps import cli
from apps.common import writing
from apps.common.errors import InputError, OutputError
from apps.common.sequences import write_video
from apps.common.writing import write_bytes


def test_a_mode_is_kept_and_a_new_file_follows_the_umask(tmp_path):
    private = tmp_path / "private.json"
    private.write_text("old")
    private.chmod(0o600)
    write_bytes(private, b"new")
    assert private.read_text("utf-8") == "new"
    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    before = os.umask(0o027)
    try:
        write_bytes(tmp_path / "new.json", b"new")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new.json").stat().st_mode) == 0o640


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EROFS])
def test_a_failed_write_keeps_the_old_file(tmp_path, monkeypatch, number):
    (tmp_path / "a").write_text("old")
    monkeypatch.setattr(writing, "_replace", lambda *_: (_ for _ in ()).throw(OSError(number, os.strerror(number))))
    with pytest.raises(OutputError, match=rf"^--json: cannot write .*{os.strerror(number)}") as caught:
        write_bytes(tmp_path / "a", b"new", "--json")
    assert caught.value.status == (1 if number in (errno.ENOSPC, errno.EDQUOT) else 2)
    assert [(p.name, p.read_text("utf-8")) for p in tmp_path.iterdir()] == [("a", "old")]


IMAGES = [np.full((48, 64, 3), 20 * n, np.uint8) for n in range(6)]


@pytest.mark.parametrize("suffix", [".avi", ".mp4", ".gif"])
def test_a_video_is_replaced_only_by_a_complete_one(tmp_path, suffix):
    path = write_video(tmp_path / f"v{suffix}", iter(IMAGES), 10.0)
    whole = path.read_bytes()

    def breaks_off():
        yield from IMAGES[:3]
        raise InputError("frame 3 is damaged")

    with pytest.raises(InputError, match="frame 3"):
        write_video(path, breaks_off(), 10.0)
    assert path.read_bytes() == whole
    assert path.read_bytes() == whole
    assert list(tmp_path.iterdir()) == [path]


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 64 KiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    how = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(how, capture_output=True).returncode != 0:
        pytest.skip("cannot mount a small disk")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def test_full_disk(small_disk, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frames = [rng.integers(0, 256, (240, 320, 3), np.uint8) for _ in range(4)]
    for suffix in (".avi", ".mp4", ".gif"):
        with pytest.raises(OutputError, match=r"--video: cannot write .*No space left") as caught:
            write_video(small_disk / f"v{suffix}", iter(frames), 10.0)
        assert caught.value.status == 1
        assert list(small_disk.iterdir()) == []
    (small_disk / "rest").write_bytes(bytes(1 << 16))
    assert cli.main(["info", "--json", str(small_disk / "r.json")]) == 1
    assert "cutmatch info: --json: cannot write" in capsys.readouterr().err
    assert [p.name for p in small_disk.iterdir()] == ["rest"]
