"""What a session returns when it is done."""

from dataclasses import dataclass

import numpy as np

from gridcut.device.result import GridResult


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SessionResult(GridResult):
    """Labels of a session, with the certificate of their cut.

    Attributes
    ----------
    labels : ndarray of int16, the image's shape
        0 background, 1 and above the objects.
    values : tuple of int
        The labels that the marks define.
    energy : float or None
        Energy in nats of the cut; None if there was nothing to cut.
    certified : bool
        Whether `Cut.check` certified the cut: of the image, above a megapixel of the part near the outline, and above 4
        megapixels of the reduced image.  Several labels: that no expansion move lowers the energy.
    """

    labels: np.ndarray
    values: tuple
    energy: float | None
    certified: bool

    def _figure(self):
        return self.labels
