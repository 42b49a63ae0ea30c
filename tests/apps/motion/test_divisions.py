"""Divisions of cells: found where they are, at minimum cost, with the tracks and parents that they imply."""

import itertools

import numpy as np
import pytest

from apps import track
from apps.tracking import track_command
from apps.tracking.divisions import divided

SEARCH_RANGE = 15.0


def dividing_cells(seed, count=80, frames=30, probability=0.01):
    """Positions per frame of cells that move and divide, their numbers, and the mother and daughters of divisions."""
    rng = np.random.default_rng(seed)
    positions, numbers, total = rng.uniform(0, 1000, (count, 2)), list(range(count)), count
    frame_positions, frame_numbers, families = [], [], []
    for _ in range(frames):
        frame_positions.append(positions)
        frame_numbers += numbers
        moved, after = [], []
        for position, number in zip(positions, numbers, strict=True):
            position = position + rng.normal(0, 2, 2)
            if rng.random() < probability:
                angle = rng.uniform(0, 2 * np.pi)
                apart = 4 * np.array([np.cos(angle), np.sin(angle)])
                moved += [position + apart, position - apart]
                after += [total, total + 1]
                families.append((number, total, total + 1))
                total += 2
            else:
                moved.append(position)
                after.append(number)
        positions, numbers = np.array(moved), after
    return frame_positions, np.array(frame_numbers), families


@pytest.mark.parametrize("linker", ["assignment", "global"])
def test_families_are_found(linker):
    frames, numbers, families = dividing_cells(0)
    tracks = track(frames, search_range=SEARCH_RANGE, linker=linker, divisions=0.2)
    shown = {number for number in numbers.tolist()}
    families = {(mother, one, other) for mother, one, other in families if {one, other} <= shown}
    found = {}
    for child, parent in enumerate(tracks.parent):
        if parent >= 0:
            first = np.flatnonzero(tracks.track == child)
            last = np.flatnonzero(tracks.track == parent)
            assert tracks.detections.frame[last].max() + 1 == tracks.detections.frame[first].min()
            found.setdefault(int(numbers[last[-1]]), []).append(int(numbers[first[0]]))
    assert all(len(children) == 2 for children in found.values())
    right = sum((mother, *sorted(children)) in families for mother, children in found.items())
    assert len(families) > 15
    assert right > 0.85 * len(families)
    assert len(found) <= len(families)
    assert tracks.counts["divisions"] == len(found)


@pytest.mark.parametrize("seed", range(6))
def test_divisions_have_the_minimum_cost(seed):
    """Every choice of mothers for the starts, by brute force, costs at least as much."""
    rng = np.random.default_rng(seed)
    mothers, starts = rng.uniform(0, 20, (4, 2)), rng.uniform(0, 20, (3, 2))
    position = np.concatenate([mothers, mothers + rng.normal(0, 1, (4, 2)), starts])
    links = np.column_stack([np.arange(4), np.arange(4, 8)])
    steps = [(0, np.arange(4)), (1, np.arange(4, 11))]
    found_mother, found_start = divided(steps, position, links, 9.0, 0.25, "cpu")
    square = ((starts[:, None] - mothers) ** 2).sum(axis=2)
    cost = np.where(square <= 81, square + 0.25 * 81, np.inf)

    def total(choice):
        used = [mother for mother in choice if mother is not None]
        if len(set(used)) < len(used):
            return np.inf
        return sum(81.0 if mother is None else cost[start, mother] for start, mother in enumerate(choice))

    chosen = dict(zip((found_start - 8).tolist(), found_mother.tolist(), strict=True))
    best = min(total(choice) for choice in itertools.product((None, 0, 1, 2, 3), repeat=3))
    assert total([chosen.get(start) for start in range(3)]) == pytest.approx(best)


def test_the_table_names_parents(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    frames = [[(0, 0), (60, 9)], [(2, 0), (-2, 0), (60, 9)], [(3, 0), (-3, 0), (60, 9)]]
    rows = [f"{number},{x},{y}" for number, points in enumerate(frames) for x, y in points]
    (tmp_path / "cells.csv").write_text("\n".join(["frame,x,y", *rows]))
    assert track_command.main(["cells.csv", "--search-range", "5", "--divisions"]) == 0
    assert "4 tracks, 1 divisions" in capsys.readouterr().out
    lines = [line.split(",") for line in (tmp_path / "out" / "cells-tracks.csv").read_text().splitlines()]
    assert lines[0] == ["track", "frame", "x", "y", "link_margin", "parent"]
    assert {(row[0], row[-1]) for row in lines[1:]} == {("0", "-1"), ("1", "-1"), ("2", "0"), ("3", "0")}
    again = tmp_path / "out" / "cells-tracks.csv"
    assert track_command.main([str(again), "--search-range", "5", "--divisions", "2", "--out", "again"]) == 2
    assert "--divisions must be a cost of 0 to 1" in capsys.readouterr().err
