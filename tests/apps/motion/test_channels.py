"""Sums over channels, and vectors gathered from a flow, against their definitions."""

import numpy as np
import pytest

from apps.optical_flow.channels import absolute_distance, channel_sum, squared_distance, vectors_at

RNG = np.random.default_rng(5)


@pytest.mark.parametrize("channels", [2, 3, 4])
def test_sums_over_channels(channels):
    first, second = RNG.normal(0, 9, (2, 20, 31, channels)).astype(np.float32)
    np.testing.assert_allclose(channel_sum(first), first.sum(axis=2), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(squared_distance(first, second), ((first - second) ** 2).sum(axis=2), rtol=1e-5)
    part = np.s_[1:, :-2]  # rows that are not adjacent in memory
    expected = np.abs(first - second).sum(axis=2)[part]
    np.testing.assert_allclose(absolute_distance(first[part], second[part]), expected, rtol=1e-5)


def test_vectors_of_a_flow():
    flow = RNG.normal(0, 9, (6, 5, 2)).astype(np.float32)
    index = np.int32([[0, 29, 7], [-1, 12, 12]])
    np.testing.assert_array_equal(vectors_at(flow, index), flow.reshape(-1, 2)[index])
    turned = np.ascontiguousarray(flow.transpose(1, 0, 2)).transpose(1, 0, 2)
    np.testing.assert_array_equal(vectors_at(turned, index), flow.reshape(-1, 2)[index])
