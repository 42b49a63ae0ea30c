"""User input for an image (strokes, a trimap or a box), converted to an array of marks.

Marks are int8, shape (H, W), as in apps.segmentation.marks.  Stroke images have one of five encodings, which are
distinguished by their values:

  encoding   no stroke    object         background    also
  colour     other        any red        any blue      painted on white, black, transparency or a copy of the image
  index      0            1              2             grey value, or index of a palette of PALETTES
  grabcut    2, 3         1              0             codes of cv2.grabCut; recognised by a 3
  grey       128          255            0             recognised by values above 3
  marks      -1           1              0             arrays only (apps.segmentation.marks); recognised by a -1

Grey values of 16 bits are divided by 257: 65535 is 255.  Strokes of several objects are not converted: 0 without a
stroke, and another value per object.  Strokes in colours get the values of COLOURS.

One rule finds strokes in colours.  What differs from the ground by more than PAINT levels is painted; the ground is
transparent, the photograph, or plain, and else whatever has no hue.  Painted pixels of a hue are a stroke, without
specks, and what lies beside a stroke is its rim, as anti-aliasing, soft brushes and JPEG leave it.  A file is refused
if much that is painted is neither, if the ground has changed elsewhere, if strokes on a ground that is none of the
three are not of compact colours, as in a photograph, and if they are dithered: some of its strokes would be guessed.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from apps.common.arguments import array_of, pixels_of
from apps.common.images import InputError, as_integers, check_same_size, codes_of, read_codes, read_pixels
from apps.common.rectangles import widened
from apps.common.row_blocks import blocks_of
from apps.segmentation.marks import BACKGROUND, OBJECT, OPEN, label_values

CODES = {
    "index": {0: OPEN, 1: OBJECT, 2: BACKGROUND},
    "grabcut": {0: BACKGROUND, 1: OBJECT, 2: OPEN, 3: OPEN},  # cv2.GC_BGD, GC_FGD, GC_PR_BGD, GC_PR_FGD
    "grey": {0: BACKGROUND, 128: OPEN, 255: OBJECT},  # also trimaps
}
ENCODINGS = ("auto", "colour", *CODES)
USE = {"grey": "0 background, 128 unknown, 255 object, in grey"}  # in messages
GREY_SLACK = 12  # deviation of grey values in a trimap saved as JPEG
PALETTES = (  # the first colours of palettes whose indices are values, whatever the colours are
    ((0, 0, 0), (128, 0, 0), (0, 128, 0), (128, 128, 0)),  # PASCAL VOC, DAVIS, labelme
    ((0, 0, 0), (255, 255, 207), (219, 0, 0), (0, 0, 219)),  # strokes of the GrabCut images (Gulshan et al. 2010)
)
FRAME = 0.01  # width of the background frame, as a share of the shorter side

# Paint.  Colours differ by their largest difference of a channel, in levels of 255.
COLOURS = {"red": 1, "blue": 2, "green": 3, "yellow": 4, "magenta": 5, "cyan": 6}  # values of objects
_MARKS = {"red": OBJECT, "blue": BACKGROUND}
HUES = {  # in degrees; those between two names have no meaning
    "red": ((0, 20), (335, 360)),
    "yellow": ((42, 70),),
    "green": ((80, 165),),
    "cyan": ((172, 190),),
    "blue": ((190, 264),),
    "magenta": ((285, 330),),
}
SAME = 24  # a colour that JPEG or a palette changed
PAINT = 44  # paint, from the ground
HUE = 56  # smallest range of the channels of a colour with a hue
COMPACT = 48  # inner pixels of a stroke, from its colour
HALF = 0.5  # of an alpha of 1, of pixels: the larger part decides
FIFTH = 0.2  # at least: of an image its photograph; at most: of strokes, lost and dithered paint
MOST_COMPACT = 0.4  # at least: of a stroke's inner pixels, on a ground that is none
MAX_CHANGED = 0.25  # of the ground away from strokes: pixels that differ by more than SAME
MIN_CLEAR = 0.05  # of an image on transparency
MIN_SHARE = 0.02  # of the painted pixels: a colour so frequent is no noise; nor is one with inner pixels of a stroke
MIN_STROKE = 16  # pixels: a dot of a pen; fewer are noise, but in a tiny image
DOT = 3  # pixels of a stroke, in a square of 3 x 3; dithering leaves fewer
RIM, FAR = 2, 16  # pixels: width of the rim of anti-aliasing, and of a soft brush's and JPEG's blocks of colour
MAX_SAMPLE = 1 << 20  # pixels in which the plain ground is searched

REMEDY = (
    "paint the object red and the background blue, opaque, on a white image or on a copy of the image, and save it as "
    "PNG, as JPEG blurs strokes"
)


def read_strokes(path, encoding: str = "auto", image=None) -> np.ndarray:
    """Read the marks of a stroke image; InputError for an unreadable file, unknown values, or no strokes.

    image   uint8 RGB (H, W, 3) of the photograph, to recognise strokes painted on a copy of it
    """
    name = f"--strokes: {str(path)!r}"
    codes, colours = codes_and_colours(path, "--strokes")
    return marks_of(codes, encoding, name, image, colours)


def codes_and_colours(path, option: str) -> tuple[np.ndarray, np.ndarray | None]:
    """The values of a stroke image, and for a palette image also its colours."""
    codes = read_pixels(path, option, indices=True)
    if codes.ndim == 3 and codes.shape[2] in (2, 4) and not codes[..., -1].any():
        raise InputError(f"{option}: {str(path)!r} is blank: every pixel is transparent (alpha 0); {REMEDY}")
    if codes.ndim == 2:
        stored = read_pixels(path, option)
        return as_integers(codes, f"{option}: {str(path)!r}"), stored if stored.ndim == 3 else None
    if codes.shape[2] == 4 and codes.dtype == np.uint8 and not is_grey(codes):
        return codes, None
    return codes_of(codes, f"{option}: {str(path)!r}"), None


def is_grey(colours: np.ndarray) -> bool:
    """Whether all channels agree at every opaque pixel."""
    for first, last in blocks_of(colours.shape):  # the first coloured block ends the search
        part = colours[first:last]
        grey = (part[..., 0] == part[..., 1]) & (part[..., 0] == part[..., 2])
        if not (grey if part.shape[2] < 4 else grey | (part[..., 3] == 0)).all():
            return False
    return True


def read_trimap(path) -> np.ndarray:
    """Read the marks of a trimap: 0 background, 255 object, unknown between; InputError as `read_strokes`."""
    codes = read_codes(path, "--trimap")
    name = f"--trimap: {str(path)!r}"
    if codes.ndim == 3:
        if not is_grey(codes):
            raise InputError(f"{name} is coloured; use {USE['grey']}")
        codes = codes[..., 0]
    codes = grey_levels(codes, name)
    return _decoded(codes, "grey") if codes.max() > 3 else _from_codes(codes, "grey", name)


def marks_of(codes: ArrayLike, encoding: str = "auto", name: str = "strokes", image=None, colours=None) -> np.ndarray:
    """Marks of an array of codes, (H, W) integers or (H, W, 3 or 4) uint8; see the table above for the encodings.

    image     uint8 RGB (H, W, 3) of the photograph, or None
    colours   colours of a palette image, whose indices are the codes; or None

    A palette in colours is read as paint, unless it is of PALETTES: the order of the colours that a paint program or
    a quantiser chose has no meaning.  Raises InputError for values outside the encodings, colours other than red and
    blue, and if there is no stroke.
    """
    codes = array_of(codes, name)
    codes = pixels_of(codes, name) if codes.ndim == 3 else codes
    if encoding not in ENCODINGS:
        raise InputError(f"stroke encoding must be one of {', '.join(ENCODINGS)}, got {encoding!r}")
    if codes.ndim not in (2, 3) or 0 in codes.shape or codes.dtype.kind not in "uib":
        raise InputError(f"{name} must hold integer codes of shape (H, W), got {codes.dtype} {codes.shape}")
    if codes.ndim == 3 and (codes.dtype != np.uint8 or codes.shape[2] not in (3, 4)):
        raise InputError(f"{name} in colour must be uint8 of shape (H, W, 3), got {codes.dtype} {codes.shape}")
    shown = codes if colours is None else colours
    may_be_paint = encoding in ("auto", "colour") and shown.ndim == 3
    if codes.ndim == 2:
        values = _values_of_palette(codes, colours, encoding) if may_be_paint else codes
    else:
        values = codes[..., 0] if is_grey(codes) and encoding != "colour" else None
    if values is None and not may_be_paint:
        raise InputError(f"{name} is coloured, but the encoding is {encoding!r}; omit it, or convert the file to grey")
    if values is not None:
        return _checked(_from_codes(values, encoding, name), shown, name)
    try:
        return _checked(painted(shown, image, name, _MARKS, np.full(codes.shape[:2], OPEN, np.int8)), shown, name)
    except InputError as error:
        if codes.ndim == 3 or codes.max() > 3:
            raise
        raise InputError(
            f"{error}; if its palette indices are 0 none 1 object 2 background, --encoding index"
        ) from None


def marks_of_values(values: np.ndarray, encoding: str, name: str) -> np.ndarray:
    """Marks of integers of any shape, such as a volume's; see the table above.  Raises InputError as `marks_of`."""
    return _checked(_from_codes(values, encoding, name), values, name)


def _checked(marks, codes, name: str) -> np.ndarray:
    """The marks; InputError if there is no stroke, or if all is object because the image is blank, mostly white."""
    if not (marks != OPEN).any():
        raise InputError(f"{name} is empty: no stroke of either kind; mark the object and the background")
    if (marks == OBJECT).all():
        first = codes[(0,) * marks.ndim]
        seen = hex_code(first[:3]) if first.ndim and len(first) >= 3 else str(int(first.ravel()[0]))
        if (codes == first).all():
            raise InputError(f"{name} is blank: every pixel is {seen}; {REMEDY}")
    return marks


def _values_of_palette(codes, colours, encoding) -> np.ndarray | None:
    """The values of a palette image in grey or of PALETTES; None for paint."""
    if is_grey(colours) and (colours.shape[2] == 3 or (colours[..., 3] > 127).all()):
        if codes.max() > 3:
            return colours[..., 0]
        levels = [int(colours[..., 0][codes == code].max()) for code in np.unique(codes)]
        if levels == sorted(levels):  # another order is a quantiser's
            return codes
    return codes if encoding == "auto" and _has_known_palette(codes, colours) else None


def _has_known_palette(codes, colours) -> bool:
    return any(
        codes.max() < len(palette) and (np.array(palette, np.uint8)[codes] == colours[..., :3]).all()
        for palette in PALETTES
    )


def read_labels(path, image=None, encoding: str = "auto") -> np.ndarray:
    """Read strokes of several objects: values (H, W), 0 without a stroke.

    Grey values are unchanged, and so are the indices of a palette of PALETTES or in grey; strokes in colours get the
    values of COLOURS, and so do other palettes.  `image` as in `read_strokes`; the encoding "index" reads indices, and
    "colour" paint.  Raises InputError as `read_codes`, for values that are not integers from 0 to 65535, and for a
    colour without a value.
    """
    name = f"--label-strokes: {str(path)!r}"
    codes, colours = codes_and_colours(path, "--label-strokes")
    shown = codes if colours is None else colours
    if shown.ndim == 2 or (is_grey(shown) and (colours is None or encoding != "colour")):
        return label_values(codes if codes.ndim == 2 else codes[..., 0], name)
    if colours is not None and (encoding == "index" or (encoding == "auto" and _has_known_palette(codes, colours))):
        return label_values(codes, name)
    try:
        return painted(shown, image, name, COLOURS, np.zeros(shown.shape[:2], np.uint8))
    except InputError as error:
        hint = "" if colours is None else "; if its palette indices are the values, --encoding index"
        raise InputError(f"{error}{hint}") from None


def painted(pixels: np.ndarray, image: np.ndarray | None, name: str, values: dict, marks: np.ndarray) -> np.ndarray:
    """Write the values of strokes in colours into marks (H, W), and return these.

    Parameters
    ----------
    pixels : ndarray of uint8, shape (H, W, 3) or (H, W, 4)
        RGB or RGBA.
    image : ndarray of uint8, shape (H, W, 3), or None
        The photograph, to recognise strokes painted on a copy of it.
    name : str
        Subject of the error messages.
    values : dict
        The value by the name of a hue of HUES.
    marks : ndarray, shape (H, W)
        What there is without strokes.

    Raises
    ------
    InputError
        If there is no stroke, if one has a colour without a value, or if some would be lost or guessed.
    """
    colour = np.ascontiguousarray(pixels[..., :3])
    chroma = _largest(colour) - ~_largest(~colour)
    visible = np.ones(chroma.shape, bool) if pixels.shape[2] == 3 else pixels[..., 3] > HALF * 255
    ground, step = _ground(colour, visible, chroma, image)
    paint = visible & (step > PAINT)
    coloured = paint & (chroma > HUE)
    found = _strokes(colour, coloured, step if ground == "the image" else None)
    if ground == "the image":
        paint = coloured | _morphed(paint, "OPEN", 1)  # JPEG changes the edges in it
    fault = _fault(found, coloured if ground == "grey" else paint, step, ground, colour, values)
    if not found and not fault:
        fault = f"has no coloured stroke: {_seen_instead(ground, pixels)}"
    if fault:
        raise InputError(f"{name} {fault}; {REMEDY}")
    for hue, (part, _) in found.items():
        marks[part] = values[hue]
    return marks


def _ground(colour, visible, chroma, image) -> tuple[str, np.ndarray]:
    """The ground ("transparency", "the image", a code, or "grey" for what has no hue), and how far off pixels are."""
    if np.count_nonzero(~visible) > MIN_CLEAR * visible.size:
        return "transparency", np.full(visible.shape, 255, np.uint8)
    if image is not None and image.shape == colour.shape:
        step = _difference(colour, image)
        if np.count_nonzero(step <= SAME) >= FIFTH * step.size:
            return "the image", step
    is_grey = visible & (chroma <= HUE)
    some = (slice(None, None, math.ceil((is_grey.size / MAX_SAMPLE) ** 0.5)),) * 2
    grey = colour[some][is_grey[some]]
    if len(grey):
        cells = grey.astype(np.intp) // 8 @ (1024, 32, 1)  # 5 bits a channel
        plain = _median(grey[cells == np.bincount(cells).argmax()])
        step = _difference(colour, plain)
        if np.count_nonzero(visible & (step <= SAME)) >= HALF * np.count_nonzero(is_grey):
            return hex_code(plain), step
    return "grey", chroma


def _strokes(colour, coloured, from_image) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """The strokes, bool (H, W), and their colour, by the name of their hue.

    `from_image` is how far pixels are off the photograph, if that is the ground.
    """
    import cv2

    places, found = np.flatnonzero(coloured), {}
    hue = cv2.cvtColor(colour.reshape(-1, 1, 3)[places], cv2.COLOR_RGB2HSV_FULL)[:, 0, 0] if len(places) else places
    degrees = hue * (360 / 256)
    speck = min(MIN_STROKE, 1 + coloured.size // 1000)
    least = max(speck, MIN_SHARE * len(places))
    for name, ranges in HUES.items():
        own = places[np.logical_or.reduce([(low <= degrees) & (degrees <= high) for low, high in ranges])]
        if len(own) < speck:
            continue
        part = np.zeros(coloured.shape, bool)
        part.ravel()[own] = True
        y, x = np.divmod(own, part.shape[1])
        around = slice(y[0], y[-1] + 1), slice(x.min(), x.max() + 1)
        rows, columns = box = widened(around, 1, part.shape)
        _, parts = cv2.connectedComponents(part[box].view(np.uint8), connectivity=8)
        number = parts[y - rows.start, x - columns.start]
        is_speck = np.bincount(number)[number] < speck
        part.ravel()[own[is_speck]] = False
        if is_speck.all():
            continue
        inner = _morphed(part[box], "ERODE", 1)
        is_thick = np.count_nonzero(inner) >= MIN_STROKE
        tone = _median(colour[box][inner if is_thick else part[box]])
        if is_speck.any():  # one in exactly the colour of a stroke is a dot
            specks, of = own[is_speck], number[is_speck]
            is_other = np.abs(colour.reshape(-1, 3)[specks] - tone.astype(np.int16)).max(axis=1) > SAME
            part.ravel()[specks[~np.isin(of, of[is_other])]] = True
        if is_thick or np.count_nonzero(part) >= least:
            if from_image is not None:  # nearer to the colour of the stroke than to the photograph
                part[box] &= _difference(colour[box], tone) <= from_image[box]
            found[name] = part, tone
    return found


def _fault(found, paint, step, ground, colour, values) -> str:
    """Why strokes cannot be trusted, in words that follow the name of their file; empty if they can."""
    import cv2

    *others, last = values
    meaning = f"only {', '.join(others)} and {last} have a meaning"
    strokes = np.logical_or.reduce([np.zeros(paint.shape, bool), *(part for part, _ in found.values())])
    count, far = np.count_nonzero(strokes), ~_morphed(strokes, "DILATE", FAR)
    lost = np.flatnonzero(paint & ~_morphed(strokes, "DILATE", RIM))
    listed = " and ".join(f"{hue} {hex_code(tone)}" for hue, (_, tone) in found.items())
    for part, tone in found.values() if ground == "grey" else ():
        inner = _morphed(part, "ERODE", 1)
        own = colour[inner if np.count_nonzero(inner) >= MIN_STROKE else part].astype(int)
        if np.mean(np.abs(own - tone).max(axis=1) <= COMPACT) < MOST_COMPACT:
            return "is not painted on a plain colour, on transparency or on a copy of the image"
    if not found.keys() <= values.keys():
        return f"has strokes in {listed} ({count} pixels); {meaning}"
    if len(lost) > max(MIN_STROKE, FIFTH * count):
        other = hex_code(_median(colour.reshape(-1, 3)[lost]))
        place = f"beside strokes in {listed}" if found else "but no stroke"
        return f"has {len(lost)} painted pixels, such as {other}, {place}; {meaning}"
    around = cv2.boxFilter(strokes.view(np.uint8), -1, (3, 3), normalize=False, borderType=cv2.BORDER_CONSTANT)
    if (dots := np.count_nonzero(strokes & (around < DOT))) > max(MIN_STROKE, FIFTH * count):
        return f"is dithered: {dots} of the {count} pixels of its strokes are single"
    changed = np.count_nonzero(far & (step > SAME))
    if found and ground not in ("grey", "transparency") and changed > MAX_CHANGED * np.count_nonzero(far):
        return f"differs from {ground} at {changed} pixels away from its strokes in {listed}"
    return ""


def _seen_instead(ground, pixels) -> str:
    if ground == "transparency":
        most = pixels[..., 3].max()
        return f"its paint is translucent, with an alpha of at most {most}, and strokes need 128 of 255 or more"
    return "it equals the image" if ground == "the image" else f"every pixel is {ground}"


def _difference(colour, other) -> np.ndarray:
    """The largest difference of a channel of uint8 colours (H, W, 3) from others or from a colour (3,)."""
    import cv2

    return _largest(cv2.absdiff(colour, other if other.ndim > 1 else tuple(map(float, (*other, 0)))))


def _largest(colour) -> np.ndarray:
    """The largest channel of colours (H, W, 3)."""
    return np.maximum(np.maximum(colour[..., 0], colour[..., 1]), colour[..., 2])


def _morphed(pixels, operation: str, by: int) -> np.ndarray:
    """An operation of OpenCV's morphology on pixels, bool (H, W), with a square."""
    import cv2

    square = np.ones((2 * by + 1, 2 * by + 1), np.uint8)
    return cv2.morphologyEx(pixels.view(np.uint8), getattr(cv2, f"MORPH_{operation}"), square).view(bool)


def _median(colours) -> np.ndarray:
    return np.rint(np.median(colours[:: 1 + len(colours) // 4096], axis=0)).astype(np.uint8)


def hex_code(rgb) -> str:
    return "#{:02x}{:02x}{:02x}".format(*(int(v) for v in rgb))


def marks_of_box(box, shape) -> np.ndarray:
    """Marks of a box (x0, y0, x1, y1), half open, in pixels: outside is background, inside is open.

    A box that covers the whole image leaves a frame of FRAME of its shorter side to the background.
    Raises InputError for a box that covers an image too small for a frame.
    """
    height, width = shape
    x0, y0, x1, y1 = check_box(box)
    if (x1 - x0, y1 - y0) == (width, height):
        # A generous box may reach all four sides; the frame of the image then serves as background.
        frame = max(1, round(FRAME * min(shape)))
        x0, y0, x1, y1 = frame, frame, width - frame, height - frame
        if x1 <= x0 or y1 <= y0:
            raise InputError("box covers the whole image, so no background is left to learn from; draw it tighter")
    marks = np.full(shape, BACKGROUND, np.int8)
    marks[y0:y1, x0:x1] = OPEN
    return marks


def check_marks(marks: np.ndarray, shape, name: str) -> np.ndarray:
    """Return the marks; InputError unless they have this shape, both kinds of marks and open pixels."""
    check_same_size(marks, shape, name)
    found = np.count_nonzero(marks != OPEN)
    share = f"{100 * found / marks.size:.2g} % of the image"
    check_kinds(marks, name, f": only strokes of one kind were found, on {share}" if found else ": no stroke was found")
    if found == marks.size:
        count = np.count_nonzero(marks == OBJECT)
        raise InputError(
            f"{name} marks every pixel, so there is nothing to segment: {count} pixels are object, {found - count} "
            "pixels are background; mark fewer pixels, and save strokes in colour, because 1 bit per pixel and "
            "dithering make all pixels black or white"
        )
    return marks


def check_kinds(marks: np.ndarray, name: str, why: str) -> None:
    """Raise InputError, with the reason `why` that is known of it, unless both kinds are marked."""
    for mark, what, how in ((OBJECT, "object", "red, or value 1"), (BACKGROUND, "background", "blue, or value 2")):
        if not (marks == mark).any():
            hint = "mark some of it" if "trimap" in name else f"add a stroke on it ({how})"
            raise InputError(f"{name} marks no {what}{why}; {hint}")


def parse_box(text: str) -> tuple[int, int, int, int]:
    """Parse four integers separated by commas or spaces."""
    parts = text.replace(",", " ").split()
    try:
        return check_box([int(part) for part in parts])
    except ValueError:  # includes InputError
        raise InputError(f"box needs four integers x0,y0,x1,y1, got {text!r}") from None


def check_box(box) -> tuple[int, int, int, int]:
    """Return four integers; InputError for anything else, including strings."""
    whole = whole_numbers(box, 4)
    if whole is None:
        raise InputError(f"box needs four integers x0,y0,x1,y1, got {box!r}")
    x0, y0, x1, y1 = whole
    return x0, y0, x1, y1


def box_inside(box, shape: tuple[int, ...]) -> tuple[int, int, int, int] | None:
    """The part of a box inside an image (H, W); None if it is empty."""
    x0, y0, x1, y1 = check_box(box)
    x0, y0, x1, y1 = max(x0, 0), max(y0, 0), min(x1, shape[1]), min(y1, shape[0])
    return (x0, y0, x1, y1) if x0 < x1 and y0 < y1 else None


def whole_numbers(values, count: int) -> tuple[int, ...] | None:
    """That many integers, or floats without a fraction, as a tuple; None for anything else, including strings."""
    try:
        whole = tuple(int(value) for value in values)
        return whole if len(whole) == count and whole == tuple(values) else None
    except (TypeError, ValueError, OverflowError):  # the last two: NaN and infinity
        return None


def grey_levels(codes: np.ndarray, name: str) -> np.ndarray:
    """Convert grey values of 8 or 16 bits to 0 to 255; InputError, starting with `name`, for other values."""
    low, high = int(codes.min()), int(codes.max())
    if low < 0 or high > 65535:
        raise InputError(f"{name} holds values from {low} to {high}; grey values have 8 or 16 bits, 0 to 65535")
    return codes if high <= 255 else np.rint(codes / 257).astype(np.uint8)


def _from_codes(codes, encoding, name):
    low, high = int(codes.min()), int(codes.max())
    if low < 0:
        if low < OPEN or high > OBJECT:
            raise InputError(f"{name} holds values from {low} to {high}; strokes are -1 none, 0 background, 1 object")
        return codes.astype(np.int8)
    use = USE.get(encoding, "0 none 1 object 2 background, grabCut's 0-3, 0/128/255, or red and blue strokes")
    if encoding in ("auto", "colour", "grey") and high > 255:
        # 16-bit grey values, unless all are 8-bit codes that a program has multiplied by 257.
        encoding = encoding if (codes % 257 == 0).all() else "grey"
        codes = grey_levels(codes, name)
    values = np.unique(codes)
    if encoding in ("auto", "colour"):
        encoding = next((known for known, mark_of in CODES.items() if set(values) <= set(mark_of)), "grey")
    unknown = [int(v) for v in values if min(abs(int(v) - code) for code in CODES[encoding]) > _slack(encoding)]
    if encoding == "grey" and values[-1] <= 3:  # labels, not grey levels
        unknown = values.astype(int).tolist()
    if unknown:
        some = ", ".join(map(str, unknown[:5])) + (", ..." if len(unknown) > 5 else "")
        raise InputError(f"{name} holds unknown values {some}; use {use}")
    return _decoded(codes, encoding)


def _decoded(codes, encoding: str) -> np.ndarray:
    """Marks of codes; values without a meaning are open."""
    marks, slack = np.full(codes.shape, OPEN, np.int8), _slack(encoding)
    for code, mark in CODES[encoding].items():
        marks[(codes >= max(0, code - slack)) & (codes <= code + slack)] = mark
    return marks


def _slack(encoding: str) -> int:
    return GREY_SLACK if encoding == "grey" else 0
