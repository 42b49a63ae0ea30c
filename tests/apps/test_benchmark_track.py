"""The benchmark of tracking on small movies, and the scores of its links."""

from benchmarks import track as benchmark
from benchmarks import track_identities


def test_tables(monkeypatch, capsys):
    monkeypatch.setattr(benchmark, "COUNTS", (5, 40))
    for name, value in {"COUNT": 40, "FRAMES": 12, "SEEDS": 1, "SPACINGS": (8.0,), "FAULTS": ((0.1, 0.1),)}.items():
        monkeypatch.setattr(track_identities, name, value)
    assert benchmark.main(["--frames", "6", "--side", "128", "--repeats", "1"]) == 0
    rows = [line.strip("|").split("|") for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]
    few, many = (dict(zip(map(str.strip, rows[0]), map(str.strip, row), strict=True)) for row in rows[1:3])
    identities = [dict(zip(map(str.strip, rows[3]), map(str.strip, row), strict=True)) for row in rows[4:]]
    assert [row["linker"] for row in identities][:2] == ["cutmatch", "cutmatch --global"]
    assert all(50 < float(row["right %"]) < 100 for row in identities)
    assert float(few["right %"]) == 100
    assert float(many["right %"]) > 95
    assert int(many["links"]) > 40 * 4
    assert float(many["frames/s"]) > 0
