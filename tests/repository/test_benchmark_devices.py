"""The benchmark of one grid on several GPUs: its instances, and whole on a small one."""

import numpy as np
import pytest

from benchmarks import devices
from benchmarks.__main__ import main


@pytest.mark.parametrize(("axes", "side", "size"), [(2, 12, 31), (3, 6, 14)])
def test_blocks_go_on_at_their_ends(axes, side, size):
    """Edges of the repeated block are those of the repeated image."""
    block = devices.repeated(axes, side)
    whole = devices.tiled(block, (size,) * axes)
    for axis in range(axes):
        offset = tuple(int(axis == a) for a in range(axes))
        edges = devices.tiled(devices.contrast(block, offset), (size,) * axes)
        inner = tuple(slice(0, size - o) for o in offset)
        assert (edges[inner] == devices.contrast(whole, offset)[inner]).all()
        assert edges.min() < edges.max() / 2


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
