"""Detections from a DataFrame, and tracks as one."""

import numpy as np
import pytest

import apps
from apps.common.images import InputError
from apps.tracking.tracking import Detections, track

pandas = pytest.importorskip("pandas")


def detections(n=20, frames=4, seed=0):
    """Random particles with a drift, in mixed order, with an index of its own."""
    rng = np.random.default_rng(seed)
    start = rng.random((n, 2)) * 400
    table = pandas.concat(
        pandas.DataFrame({"y": start[:, 1] + k, "x": start[:, 0], "mass": rng.random(n), "frame": k, "id": range(n)})
        for k in range(frames)
    )
    return table.sample(frac=1, random_state=seed)


def test_a_data_frame_is_linked_like_detections():
    table = detections()
    found = apps.track(table, search_range=5.0)
    given = Detections(table["frame"].to_numpy(), table[["x", "y"]].to_numpy())
    np.testing.assert_array_equal(found.track, track(given, search_range=5.0).track)
    assert list(found.detections.extra) == ["mass", "id"]
    linked = found.to_pandas()
    assert linked.columns.tolist() == ["x", "y", "frame", "mass", "id", "particle", "link_margin"]
    for name in ("x", "y", "frame", "mass", "id"):
        np.testing.assert_array_equal(linked[name], table[name])
    assert (linked.groupby("particle")["id"].nunique() == 1).all()
    assert linked["particle"].nunique() == 20
    assert linked["link_margin"].isna().sum() == 20
    first = linked.sort_values("frame").groupby("particle").head(1)
    assert first["link_margin"].isna().all()


def test_a_table_of_tracks_is_linked_again():
    found = track(detections(), search_range=5.0)
    again = track(found.to_pandas(), search_range=5.0)
    np.testing.assert_array_equal(again.track, found.track)
    assert again.to_pandas().equals(found.to_pandas())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.drop(columns="y"), "no column y; it needs frame, x and y"),
        (lambda t: t.drop(columns=["frame", "x"]), "no column frame and no x"),
        (lambda t: t.assign(x="left"), "row 0: x is 'left', expected a finite number"),
        (lambda t: t.assign(frame=0.5), r"row 0: frame is 0\.5, expected an integer"),
        (lambda t: t.assign(frame=np.nan), "frame is nan, expected a finite number"),
        (lambda t: t.assign(frame=1e300), r"frame is 1e\+300, above the maximum"),
        (lambda t: t.assign(y=np.inf), "y is inf, expected a finite number"),
        (lambda t: pandas.concat([t, t[["x"]]], axis=1), "several columns called 'x'"),
    ],
)
def test_refused_tables(change, message):
    with pytest.raises(InputError, match=message):
        track(change(detections()), search_range=5.0)
