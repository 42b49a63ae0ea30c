"""Figures of flow: colours against the published rules, geometry against known motion."""

import math

import numpy as np

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
