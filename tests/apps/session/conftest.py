"""Sessions and small grids."""

import pytest

from apps.segmentation import fit
from apps.session import Session
from tests.apps.session.scenes import disc_scene


@pytest.fixture(scope="session")
def disc():
    return disc_scene()


@pytest.fixture
def session(disc):
    """A session with both kinds of strokes, at rest."""
    image, _ = disc
    with Session(image, device="cpu") as one:
        one.stroke([(24, 20), (32, 20)], 2)
        one.stroke([(3, 3), (52, 3)], 2, 0)
        one.wait()
        yield one


@pytest.fixture
def tiny_grids(monkeypatch):
    """Images above 1500 pixels count as large, and are answered with 600."""
    monkeypatch.setattr(fit, "WORKING_PIXELS", 1500)
    monkeypatch.setattr(fit, "BOX_PIXELS", 1500)
    monkeypatch.setattr(fit, "LARGE_PIXELS", 1500)
    monkeypatch.setattr(fit, "REDUCED_PIXELS", 600)
