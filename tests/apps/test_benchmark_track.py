"""The benchmark of tracking on small movies, and the scores of its links."""

import numpy as np
import pytest

from apps.tracking.tracking import from_frames
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


def test_movies_show_their_particles():
    movie, truth = benchmark.particles_in_motion(12, 3, 96)
    assert movie.shape == (3, 96, 96)
    assert truth.shape == (3, 12, 2)
    x, y = np.rint(truth[2]).astype(int).T
    assert movie[2, y, x].min() > 120
    assert np.median(movie) < 40
    assert 0 < np.abs(np.diff(truth, axis=0)).max() < 5


def test_right_links_counts_those_of_one_particle():
    truth = np.array([[[20.0, 20], [60, 60]], [[21, 20], [61, 60]], [[22, 20], [62, 60]]])
    table = np.array(
        [(0, 20, 20), (0, 60, 60), (1, 21, 20), (1, 61, 60), (2, 22, 20)],
        dtype=[("frame", float), ("x", float), ("y", float)],
    )
    assert benchmark.right_links(table, truth) == pytest.approx(1.0), "a particle that was not detected is not missed"
    swapped = truth.copy()
    swapped[1] = truth[1, ::-1]
    assert benchmark.right_links(table, swapped) == pytest.approx(0.0)


def test_detections_far_from_particles_have_no_identity():
    found = from_frames([[[20.0, 20]], [[40.0, 40]], np.zeros((0, 2))])
    truth = np.tile([[[20.5, 20.0]]], (3, 1, 1))
    assert benchmark._identities(found, truth).tolist() == [0, -1]


def test_identities_are_counted_by_hand():
    """Two particles that exchange their tracks after frame 1, noise at the end of one track, and a lost detection."""
    frame = np.array([0, 0, 1, 1, 2, 2, 3, 4])
    particle = np.array([0, 1, 0, 1, 0, 1, -1, 1])
    number = np.array([0, 1, 0, 1, 1, 0, 0, 2])
    right, wrong, switches, true = track_identities.counts(frame, particle, number)
    assert (right, wrong, switches, true) == (2, 3, 3, 5)
