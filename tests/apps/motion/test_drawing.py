"""Figures of flow: colours against the published rules, geometry against known motion."""

import math

import numpy as np
import pytest

from apps.optical_flow import flow_figures as drawing


def published_colour(u, v):
    """Colour of one vector by the rules of Baker et al. (2011), for u, v already divided by the longest length.

    Hue: six arcs of the wheel in 15, 6, 4, 11, 13 and 6 steps, red at angle 0 of (-u, -v).
    """
    corners = [(255, 0, 0), (255, 255, 0), (0, 255, 0), (0, 255, 255), (0, 0, 255), (255, 0, 255), (255, 0, 0)]
    wheel = []
    for start, end, steps in zip(corners, corners[1:], (15, 6, 4, 11, 13, 6), strict=False):
        for i in range(steps):
            ramp = math.floor(255 * i / steps)
            wheel.append([a + (ramp if b > a else -ramp if b < a else 0) for a, b in zip(start, end, strict=True)])
    place = (math.atan2(-v, -u) / math.pi + 1) / 2 * 54
    low = int(place)
    share = place - low
    radius = math.hypot(u, v)
    mixed = [(1 - share) * a + share * b for a, b in zip(wheel[low], wheel[(low + 1) % 55], strict=True)]
    return [255 * (1 - radius * (1 - c / 255)) if radius <= 1 else 0.75 * c for c in mixed]


def test_colours_are_the_published_ones_to_a_grey_level():
    rng = np.random.default_rng(0)
    flow = rng.uniform(-1.2, 1.2, (20, 30, 2)).astype(np.float32)
    flow[0, :4] = [(1, 0), (-1, 0), (0, 1), (0, -1)]
    flow[1, 0] = 0
    figure = drawing.flow_figure(flow, max_motion=1.0)
    wanted = np.array([[published_colour(*map(float, vector)) for vector in row] for row in flow])
    assert np.abs(figure - wanted).max() <= 1
    assert figure[1, 0].tolist() == [255, 255, 255]


def test_arrows_point_along_the_flow():
    rgb = np.full((300, 300, 3), 0.5, np.float32)
    flow = np.zeros((300, 300, 2), np.float32)
    flow[200:, :, 0] = 40  # so that arrows are not lengthened
    still = flow.copy()
    spacing = round(300 / drawing.MAX_ARROWS)
    start = spacing // 2 + 5 * spacing  # of the sixth arrow of the sixth row
    still[start, start], flow[start, start] = 0, (40, 0)
    unmoved, moved = (drawing.arrows(rgb, field) for field in (still, flow))
    y, x = np.nonzero((moved != unmoved).any(axis=2))
    assert start - 7 <= y.min() <= y.max() <= start + 7, "the arrow runs along the row of its start"
    high = [np.ptp(y[x == column]) for column in (start + 20, start + 36)]
    assert high[1] > high[0], "its head is where the motion ends"
    assert x.max() == pytest.approx(start + 40, abs=3)
    grey = drawing.arrows(rgb, flow, np.zeros((300, 300), bool))
    assert np.ptp(grey[start, start + 20]) == 0
    assert np.ptp(moved[start, start + 20]) > 50


def test_the_key_has_the_colours_of_the_flow():
    from apps.optical_flow.flow_figures import flow_figure, key_figure

    key = key_figure(41)
    assert key.shape == (41, 41, 3)
    for x, y in ((20, 0), (0, 20), (-12, 5), (3, -17), (0, 0)):
        flow = np.full((1, 1, 2), (x, y), np.float32)
        np.testing.assert_array_equal(key[20 + y, 20 + x], flow_figure(flow, max_motion=20)[0, 0])
    assert (key[0, 0] == 255).all()
    assert (key[20, 20] == 255).all()
