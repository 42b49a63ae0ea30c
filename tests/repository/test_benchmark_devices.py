"""The benchmark of one grid on several GPUs: its instances, and whole on a small one."""

import numpy as np
import pytest

from benchmarks import devices
from benchmarks.__main__ import main


@pytest.mark.parametrize("name", devices.SIZES)
def test_instances(name):
    source, sink, edges = devices.instance(name, 9)
    axes = 2 if name == "image" else 3
    assert source.shape == sink.shape == (9,) * axes
    assert len(edges) == {"image": 2, "volume": 3, "dense": 13}[name]
    assert not (np.minimum(source, sink)).any()
    assert source.any()
    assert sink.any()


def test_unknown_instance(capsys):
    assert main(["devices", "no such instance"]) == 2
    assert "there are: image, volume, dense" in capsys.readouterr().out


@pytest.mark.gpu
def test_table(capsys):
    lists = ["--devices", "0", "0", "--devices", *"000"]
    assert main(["devices", "image", "volume", *lists, "--size", "40"]) == 0
    several, more, one = (line for line in capsys.readouterr().out.splitlines() if line.startswith("| image"))
    assert "✓" in several
    assert "0+0 | equal" in " ".join(more.split())  # 40 lines are at most two slabs
    assert "equal" in one
