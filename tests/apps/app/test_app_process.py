"""The command as a process: labels of a volume in its own format, and options that cannot be used."""

import urllib.request

import numpy as np
import pytest

from apps import cli
from apps.volumes.volume_files import read_volume

pytest.importorskip("uvicorn", reason="needs the extra 'app'")
pytest.importorskip("websockets", reason="needs the extra 'app'")

from tests.apps.app.app_process import TIMEOUT


def test_labels_of_a_volume_have_its_format(start, tmp_path):
    pytest.importorskip("SimpleITK")
    import SimpleITK

    z, y, x = np.mgrid[:12, :24, :28]
    inside = (2 * (z - 6)) ** 2 + (y - 12) ** 2 + (x - 14) ** 2 < 64
    image = SimpleITK.GetImageFromArray(np.float32(100 * inside + np.random.default_rng(0).normal(0, 5, inside.shape)))
    image.SetSpacing((1.0, 1.0, 2.0))
    image.SetOrigin((3.0, -4.0, 5.0))
    SimpleITK.WriteImage(image, tmp_path / "scan.nii.gz")
    server = start(tmp_path / "scan.nii.gz")
    page = server.page()
    with urllib.request.urlopen(f"{server.address}image/0/1/12", timeout=TIMEOUT) as answer:
        values = np.frombuffer(answer.read(), "<u2").reshape(12, 28)
    assert values[6, 14] > 2 * values[6, 2]
    page.stroke([(12.5, 12.5), (16.5, 12.5)], 1, 1.5, place=(0, 6))
    page.stroke([(1.5, 1.5), (26.5, 1.5)], 0, 1.5, place=(1, 3))
    page.say("save", item=0, kinds=[])
    saved = page.until("saved", "error")
    assert saved["files"] == ["scan-labels.nii.gz"]
    labels = read_volume(tmp_path / "out" / "scan-labels.nii.gz")
    assert labels.geometry.spacing == (2.0, 1.0, 1.0)
    assert labels.geometry.origin == pytest.approx((3.0, -4.0, 5.0))
    assert ((labels.values > 0) == inside).mean() > 0.97
    page.say("box", item=0, box=[1, 1, 5, 5], label=1)
    assert "box" in page.until("error")["text"]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["nothing.png"], "no file"),
        (["photo.png", "--port", "70000"], "--port"),
        (["photo.png", "--port", "-1"], "--port"),
        (["photo.png", "--host", "203.0.113.7"], "--host 0.0.0.0"),
        (["photo.png", "truth.png", "--start", "truth.png"], "--start"),
        (["empty"], "no image"),
        (["photo.png", "--out", ""], "--out"),
    ],
)
def test_unusable_arguments(files, monkeypatch, capsys, arguments, text):
    monkeypatch.chdir(files)
    (files / "empty").mkdir()
    assert cli.main(["app", *arguments, "--no-browser"]) == 2
    message = capsys.readouterr().err
    assert text in message
    assert message.count("\n") == 1
    assert not (files / "out").exists()
