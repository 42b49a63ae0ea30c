"""Take noise out of pictures, and fill what is missing, without blurring edges.

  cutmatch denoise photo.png                            grey or colour, the noise's strength found in the picture
  cutmatch denoise scan.png --data linear               salt and pepper: single pixels that are wrong by any amount
  cutmatch denoise page.png --binary                    black and white
  cutmatch denoise photo.png --mask holes.png           fill where the mask is not 0
  cutmatch denoise photos/                              a folder

The least total variation that stays near the picture, found exactly, by one cut for each bit of the grey levels;
black and white by one cut.  With --truncate-data, --truncate or another --smoothness-term the terms are truncated, which keeps
contrast, and found by alpha-expansion over --levels grey levels.

Each picture gives NAME-restored.png in the --out folder (or what --format says), 16 bits deep if the picture was.

Exit status: 0 done, 1 some pictures of a folder failed or the disk is full, 2 the input cannot be used, 70 a defect
in cutmatch.
"""

import io
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from apps.common.command import (
    add_batch_options,
    add_shared_options,
    check_device,
    check_threads,
    in_batch,
    parsed,
    parser,
    run,
)
from apps.common.images import InputError, read_codes, read_image, write_bytes
from apps.common.labelling import SMOOTHNESS_TERMS
from apps.common.outputs import claim
from apps.many.batch import Item, beside, pictures_of, run_many, run_one

DATA = ("quadratic", "linear")
FORMATS = ("png", "tif", "jpg")
MAX_IN_JPEG = 65500  # pixels: libjpeg's limit
INPUTS = ("image", "mask", "truth")


@dataclass(frozen=True, slots=True)
class Job:
    """One picture, its mask and the clean picture where there are: paths."""

    image: Path
    mask: Path | None
    truth: Path | None


def denoise(image, **settings):
    """Restore a noisy or damaged picture.

    Parameters
    ----------
    image : array_like, (H, W), (H, W, 3) or (H, W, 4)
        Grey, RGB or RGBA; unsigned integers, or floats in [0, 1].
    mask : array_like, (H, W), optional
        Pixels to fill: not 0.
    binary : bool, optional
        Restore black and white; by default where the picture has no more than two grey values.
    smoothness : float, optional
        Weight of the differences between neighbours: grey levels for quadratic data, else a ratio.  By default the
        noise's standard deviation says.
    data : {"quadratic", "linear"}
        Cost of a pixel's change: its square (Gaussian noise) or its size (outliers).
    truncate_data : float, optional
        Most that a pixel's change costs, in grey levels (squared).
    smoothness_term : {"linear", "potts", "quadratic"}
        Cost of a difference between neighbours; only "linear" without limits is minimised exactly.
    truncate : int, optional
        Most that a difference costs, in levels (squared).
    levels : int, default 64
        Grey levels of what cannot be minimised exactly.
    device : {"auto", "cpu", "cuda"}

    Returns
    -------
    apps.denoise.restoration.Restoration
        `image` float32 in [0, 1], (H, W) or (H, W, 3); the smoothness and noise; seconds by stage.

    Raises
    ------
    InputError
        A ValueError whose message is one line for the user: a mask of another size or over everything, a setting out of
        range.

    Notes
    -----
    8 cuts of the picture's size for 8 bits of grey, 27 for colour, 16 and 51 for 16 bits.
    """
    from apps.denoise.restoration import restore

    return restore(image, **settings)


def _options():
    options = parser("denoise", __doc__)
    options.add_argument("image", nargs="+", help="pictures, or folders of pictures")
    options.add_argument("--mask", metavar="FILE", help="pixels to fill (not 0), or a folder of masks")
    options.add_argument("--binary", action="store_true", help="restore black and white")
    options.add_argument("--smoothness", type=float, metavar="W", help="weight of differences (default: by the noise)")
    how = options.add_argument_group("the energy")
    how.add_argument("--data", choices=DATA, default=DATA[0], help="cost of a change (default: %(default)s)")
    how.add_argument("--truncate-data", type=float, metavar="LEVELS", help="most that a change costs")
    how.add_argument(
        "--smoothness-term", choices=SMOOTHNESS_TERMS, default="linear", help="cost of a difference (linear)"
    )
    how.add_argument("--truncate", type=int, metavar="STEPS", help="most that a difference costs")
    how.add_argument("--levels", type=int, default=64, help="grey levels where the energy is truncated (64)")
    options.add_argument("--format", choices=FORMATS, default="png", help="of the results (default: png)")
    options.add_argument("--truth", metavar="FILE", help="the clean picture, or a folder of them: adds scores")
    add_batch_options(options)
    add_shared_options(options, "out")
    return options


def _main(argv) -> int:
    chosen = parsed(_options(), argv)
    threads = check_threads(chosen.threads)
    check_device(chosen.device)
    images, many = pictures_of(chosen.image, out=chosen.out)
    items = [Item(path.stem, str(path), partial(_job, path, chosen), (_file(path, chosen),), path) for path in images]
    if not in_batch(many, chosen):
        return run_one("denoise", _denoise_one, items[0], _line, chosen, INPUTS)
    return run_many(
        "denoise",
        "image",
        _denoise_one,
        items,
        _line,
        _scores,
        chosen,
        total=len(images),
        inputs=INPUTS,
        at_once=threads,
    )


def _job(path: Path, chosen) -> Job:
    return Job(path, beside(chosen.mask, path.stem, "--mask"), beside(chosen.truth, path.stem, "--truth"))


def _file(image: Path, chosen) -> Path:
    return Path(chosen.out) / f"{image.stem}-restored.{chosen.format}"


def _denoise_one(job: Job, chosen) -> dict:
    """Read, restore, write; the report.  Nothing is written unless all of it can be."""
    image = read_image(job.image)
    shape = image.shape[:2]
    if chosen.format == "jpg" and max(shape) > MAX_IN_JPEG:
        raise InputError(
            f"--format jpg holds {MAX_IN_JPEG} pixels a side, but the image is {shape[1]}x{shape[0]}; use png or tif"
        )
    mask = read_codes(job.mask, "--mask") if job.mask is not None else None
    truth = read_image(job.truth, "--truth") if job.truth is not None else None
    if truth is not None and truth.shape != image.shape:
        raise InputError(
            f"--truth is {truth.shape[1]}x{truth.shape[0]} pixels, but the image is {shape[1]}x{shape[0]}; "
            "make them the same size"
        )
    result = denoise(
        image,
        mask=mask,
        binary=True if chosen.binary else None,
        smoothness=chosen.smoothness,
        data=chosen.data,
        truncate_data=chosen.truncate_data,
        smoothness_term=chosen.smoothness_term,
        truncate=chosen.truncate,
        levels=chosen.levels,
        device=chosen.device,
    )
    quality = {}
    if truth is not None:
        quality = {"truth": {"before": _quality(image, truth), "after": _quality(result.image, truth)}}
    data = _encoded(result.image, chosen.format, result.levels > 512)
    path = _file(job.image, chosen)
    claim(chosen, "denoise", job.image.stem, job.image, [path])
    write_bytes(path, data)
    return {
        "image": str(job.image),
        "width": shape[1],
        "height": shape[0],
        "kind": result.kind,
        "noise": round(result.noise, 3),
        "smoothness": round(result.smoothness, 4),
        "seconds": {stage: round(seconds, 4) for stage, seconds in result.seconds.items()},
        "files": {"restored": str(path)},
        **quality,
    }


def _encoded(image, kind: str, deep: bool) -> bytes:
    """A file's content for a picture in [0, 1]; `deep`: of 16 bits, where the kind of file has them."""
    import cv2
    import numpy as np
    import tifffile

    most = 65535 if deep and kind != "jpg" else 255
    pixels = np.rint(image * np.float32(most)).astype(np.uint16 if most > 255 else np.uint8)
    if kind == "tif":
        buffer = io.BytesIO()
        tifffile.imwrite(buffer, pixels, compression="zlib", photometric="minisblack" if pixels.ndim == 2 else "rgb")
        return buffer.getvalue()
    done, data = cv2.imencode(f".{kind}", pixels if pixels.ndim == 2 else pixels[..., ::-1])
    if not done:
        raise InputError(f"--format {kind} cannot hold this picture; use another")
    return data.tobytes()


def _quality(image, truth) -> dict:
    """PSNR in decibels and SSIM against the clean picture (H, W, 3); a grey result counts as grey.

    None where there is no such number: PSNR of an exact copy, SSIM of a picture with a side below 3 pixels.
    """
    import numpy as np
    from skimage.metrics import peak_signal_noise_ratio, structural_similarity

    image = np.broadcast_to(image[..., None], truth.shape) if image.ndim == 2 else image
    same = bool((image == truth).all())
    side = min(7, *truth.shape[:2])
    window = side if side % 2 else side - 1
    likeness = None
    if window >= 3:
        likeness = structural_similarity(truth, image, data_range=1.0, channel_axis=2, win_size=window)
        likeness = round(float(likeness), 5)
    ratio = float("inf") if same else peak_signal_noise_ratio(truth, image, data_range=1.0)
    return {"psnr": None if same else round(float(ratio), 3), "ssim": likeness}


def _line(report) -> str:
    text = (
        f"{report['image']}: {report['width']}x{report['height']}, {report['kind']}, noise {report['noise']:.1f}, "
        f"smoothness {report['smoothness']:.2f}, {report['seconds']['total']:.2f} s -> {report['files']['restored']}"
    )
    return text + _scores([report])


def _scores(reports) -> str:
    scored = [report["truth"] for report in reports if "truth" in report]
    if not scored:
        return ""
    text = ""
    for name, unit in (("psnr", " dB"), ("ssim", "")):
        pairs = [(s["before"][name], s["after"][name]) for s in scored]
        if all(value is not None for pair in pairs for value in pair):
            before, after = (sum(side) / len(side) for side in zip(*pairs, strict=True))
            text += f"; {name.upper()} {before:.4g}{unit} -> {after:.4g}{unit}"
    return text


def main(argv=None) -> int:
    """The command; its exit status."""
    return run(_main, "denoise", argv)


if __name__ == "__main__":
    sys.exit(main())
