"""The colour profile and the resolution of a photograph, which its results keep.

Without its profile, a photograph in Display P3 or Adobe RGB would be shown in other colours.  Nothing else is kept: the
EXIF orientation has been applied to the pixels, and the place and the time of a photograph do not belong in a mask.

`apps.common.metadata_reading` reads them.
"""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:  # the module is loaded by commands that use no arrays
    import numpy as np

RGB, GREY = b"RGB ", b"GRAY"  # bytes 16 to 19: the colours that it describes


class Metadata(NamedTuple):
    """ICC profile, and pixels per inch in x and y; None where the file has none."""

    icc: bytes | None = None
    dpi: tuple[float, float] | None = None

    def options(self, pixels: "np.ndarray") -> dict:
        """Keyword arguments of Pillow's `save` for pixels (H, W) or (H, W, channels).

        A profile of other colours than those of the pixels is left out: that of a CMYK file, which has been converted
        to RGB, and that of a photograph for its mask, whose values are no colours.
        """
        space = GREY if pixels.ndim == 2 else RGB
        icc = {"icc_profile": self.icc} if self.icc is not None and self.icc[16:20] == space else {}
        return icc | ({"dpi": self.dpi} if self.dpi is not None else {})

    def without_profile(self) -> "Metadata":
        """The resolution alone, for masks and label images."""
        return self._replace(icc=None)


NO_METADATA = Metadata()
