"""The benchmark of large photographs: a row needs equal files and a certified run."""

from benchmarks import photographs


def test_every_cut_of_a_command_is_certified(tmp_path):
    photographs.make_photograph(tmp_path, (120, 180))
    found = photographs.run("segment", tmp_path, "--certify")
    assert found["checked"] > 0
    assert found["memory"] > 2**20
    assert {"cuts", "read"} <= set(found["phases"])
    assert set(photographs.written(tmp_path, "segment")) == {f"photo-{k}.png" for k in ("mask", "overlay", "cutout")}
