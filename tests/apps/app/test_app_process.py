"""The command as a process: its options, its address, and strokes that survive when it is killed."""

import contextlib
import json
import subprocess
import sys
import urllib.request

import numpy as np
import pytest

from apps import cli
from apps.app.messages import encode_stroke
from apps.volumes.volume_files import read_volume

client = pytest.importorskip("websockets.sync.client", reason="needs the extra 'app'")
TIMEOUT = 60


@pytest.fixture
def run(tmp_path):
    """function(*arguments) -> the command's process and address; it opens no browser unless browser=True."""
    started = []

    def start(*arguments, browser=False):
        command = [sys.executable, "-m", "apps.cli", "app", *map(str, arguments)]
        if not browser:
            command.append("--no-browser")
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        started.append(process)
        return process, process.stdout.readline().split()[-1]

    yield start
    for process in started:
        process.kill()
        process.wait(TIMEOUT)
        process.stdout.close()


@pytest.fixture
def connect():
    """function(address) -> a page's socket."""
    with contextlib.ExitStack() as stack:
        yield lambda address: Socket(address, stack)


class Socket:
    """A page's socket to a process; closed with the stack."""

    def __init__(self, address, stack):
        origin = address[: address.index("/", 8)]
        connection = client.connect(address.replace("http", "ws") + "socket", origin=origin)
        self._socket = stack.enter_context(connection)

    def say(self, do, **arguments):
        self._socket.send(json.dumps({"do": do} | arguments))

    def stroke(self, points, label, number, place=(None, 0)):
        self._socket.send(encode_stroke(0, number, points, 1.5, label, *place))
        self.until(lambda m: m.get("number") == number)

    def until(self, wanted):
        while True:
            data = self._socket.recv(timeout=TIMEOUT)
            if isinstance(data, str) and wanted(message := json.loads(data)):
                return message

    def open(self):
        self.say("open", item=0)
        return self.until(lambda m: m["type"] == "state")


def test_labels_of_a_volume_have_its_format(run, connect, tmp_path):
    pytest.importorskip("SimpleITK")
    import SimpleITK

    z, y, x = np.mgrid[:12, :24, :28]
    inside = (2 * (z - 6)) ** 2 + (y - 12) ** 2 + (x - 14) ** 2 < 64
    image = SimpleITK.GetImageFromArray(np.float32(100 * inside + np.random.default_rng(0).normal(0, 5, inside.shape)))
    image.SetSpacing((1.0, 1.0, 2.0))
    image.SetOrigin((3.0, -4.0, 5.0))
    SimpleITK.WriteImage(image, tmp_path / "scan.nii.gz")
    _, address = run(tmp_path / "scan.nii.gz", "--out", tmp_path / "out", "--device", "cpu")
    page = connect(address)
    page.open()
    with urllib.request.urlopen(f"{address}image/0/1/12", timeout=TIMEOUT) as answer:
        values = np.frombuffer(answer.read(), "<u2").reshape(12, 28)
    assert values[6, 14] > 2 * values[6, 2]
    page.stroke([(12.5, 12.5), (16.5, 12.5)], 1, 1, (0, 6))
    page.stroke([(1.5, 1.5), (26.5, 1.5)], 0, 2, (1, 3))
    page.say("save", item=0, kinds=[])
    saved = page.until(lambda m: m["type"] in ("saved", "error"))
    assert saved["files"] == ["scan-labels.nii.gz"]
    labels = read_volume(tmp_path / "out" / "scan-labels.nii.gz")
    assert labels.geometry.spacing == (2.0, 1.0, 1.0)
    assert labels.geometry.origin == pytest.approx((3.0, -4.0, 5.0))
    assert ((labels.values > 0) == inside).mean() > 0.97
    page.say("box", item=0, box=[1, 1, 5, 5], label=1)
    assert "box" in page.until(lambda m: m["type"] == "error")["text"]


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
