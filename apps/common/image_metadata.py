"""The colour profile and the resolution of a photograph, which its results keep.

Without its profile, a photograph in Display P3 or Adobe RGB would be shown in other colours.  Nothing else is kept: the
EXIF orientation has been applied to the pixels, and the place and the time of a photograph do not belong in a mask.

`apps.common.metadata_reading` reads them.
"""

import struct
import zlib
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:  # the module is loaded by commands that use no arrays
    import numpy as np

INCHES_PER_METRE = 1 / 0.0254
PNG_HEADER = 33  # bytes: the signature and the first chunk, which is of fixed length
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

    def added_to_png(self, content: bytes, pixels: "np.ndarray") -> bytes:
        """A PNG file of pixels that has neither profile nor resolution, with those that `options` chooses."""
        kept, chunks = self.options(pixels), b""
        if "icc_profile" in kept:
            chunks += _chunk(b"iCCP", b"ICC Profile\0\0" + zlib.compress(kept["icc_profile"]))
        if "dpi" in kept:
            per_metre = (round(dpi * INCHES_PER_METRE) for dpi in kept["dpi"])
            chunks += _chunk(b"pHYs", struct.pack(">IIB", *per_metre, 1))
        return content[:PNG_HEADER] + chunks + content[PNG_HEADER:]

    def without_profile(self) -> "Metadata":
        """The resolution alone, for masks and label images."""
        return self._replace(icc=None)


def _chunk(kind: bytes, content: bytes) -> bytes:
    """A chunk of a PNG file."""
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


NO_METADATA = Metadata()
