"""Unwrap phases: make interferograms, holograms and MRI phases continuous.

  cutmatch unwrap phase.npy                             radians in any range of 2 pi; NaN where unknown
  cutmatch unwrap fringes.png                           8 or 16 bits: one cycle is 256 or 65536 grey levels
  cutmatch unwrap phase.tif --quality coherence.tif     with known weights; by default they are estimated
  cutmatch unwrap phase.tif --mask water.png            leave out pixels where the mask is not 0
  cutmatch unwrap volume.nii.gz --norm l2               a volume; with squared differences as the cost
  cutmatch unwrap phases/                               a folder

Whole cycles are added to the pixels so that neighbours differ by less than half a cycle, except where the phase
contradicts itself: there, the sum of the weights of pairs that differ by more is the smallest possible (minimum-cost
flow).  With --norm l2, the sum of the weighted squares of all differences is, as in volumes by minimum cuts.  Weights
are the quality if given, or estimated from the phase.

Each phase gives NAME-unwrapped.tif in the --out folder (or another --format): floats in radians, NaN where masked; and
NAME-phases.png, the wrapped and the unwrapped phase above their scales, of a volume the
slice with the most known voxels.
"""

import io
from functools import partial
from pathlib import Path

from apps.common.clock import charge, shown_seconds
from apps.common.command import spelled
from apps.common.images import InputError, pixels_in, read_bytes, write_bytes, write_image
from apps.common.stems import stem_of
from apps.many.inputs import Job, image_items, images_of, job_of
from apps.many.program import Program, Work, report_of
from apps.unwrap import NORMS

FORMATS = ("tif", "npy")
INPUTS = ("image", "mask", "quality")


def _add_options(options) -> None:
    options.add_argument("image", nargs="+", help="phases, or folders of them: .npy, TIFF, PNG and other grey images")
    options.add_argument("--mask", metavar="FILE", help="nonzero where the phase is unknown, or a folder of masks")
    options.add_argument(
        "--quality", metavar="FILE", help="reliability of each pixel, such as the coherence, or a folder of them"
    )
    options.add_argument("--norm", choices=NORMS, default=NORMS[0], help="what the cost is of (default: %(default)s)")
    options.add_argument(
        "--format", choices=FORMATS, default="tif", help="format of the results (default: %(default)s)"
    )


def _plan(chosen) -> Work:
    from apps.refine.mask_files import is_mask_name
    from apps.volumes.volume_files import kind_of

    images, many = images_of(chosen, lambda path: is_mask_name(path) or kind_of(path) is not None)
    job = partial(job_of, chosen, INPUTS[1:])
    items = image_items(images, job, lambda path: _files(stem_of(path), chosen).values())
    return Work(items, many, _unwrap_one, _line)


def _files(name: str, chosen) -> dict[str, Path]:
    folder = Path(chosen.out)
    return {"unwrapped": folder / f"{name}-unwrapped.{chosen.format}", "phases": folder / f"{name}-phases.png"}


def _unwrap_one(job: Job, chosen) -> dict:
    """Unwrap a phase and write it; return the report.  Nothing is written before all of it succeeded."""
    import numpy as np

    from apps.unwrap.phase_figures import both_figure
    from apps.unwrap.phase_problem import CYCLE
    from apps.unwrap.unwrapping import unwrap

    charge("import")
    phase = _grid(job.image, "image")
    if phase.dtype.kind in "iu":
        phase = phase.astype(np.float32) * np.float32(CYCLE / 2 ** (8 * phase.dtype.itemsize))
    given = {option: _grid(file, spelled(option)) for option, file in job.files.items()}
    result = unwrap(phase, **given, norm=chosen.norm)
    figure = both_figure(phase, result.phase)
    charge("figures")
    data = io.BytesIO()
    if chosen.format == "tif":
        import tifffile

        tifffile.imwrite(data, result.phase, photometric="minisblack")
    else:
        np.save(data, result.phase)
    files = _files(stem_of(job.image), chosen)
    write_bytes(files["unwrapped"], data.getvalue())
    write_image(files["phases"], figure)
    found = {"residues": result.residues, "cost": result.cost, "cycles": int(np.ptp(result.cycles))}
    # This flow is solved on the CPU on every device.
    return report_of({"image": str(job.image)}, phase.shape, result.seconds, files, **found, device="cpu")


def _grid(path: Path, name: str):
    """The numbers (H, W) or (D, H, W) in a file of numpy.save, a grey image, or a volume of floats."""
    import numpy as np

    from apps.segment.mask_images import ARRAYS, array_in
    from apps.volumes.volume_files import is_volume, read_volume

    if path.suffix.lower() not in ARRAYS and is_volume(path):
        values = read_volume(path, name).values
        if name == "image" and values.dtype.kind != "f":
            raise InputError(f"{name}: {str(path)!r} holds {values.dtype}; convert the volume to floats in radians")
        return values
    data = read_bytes(path, name)
    array = array_in(data, path, name)
    if array is not None:
        return array
    pixels = pixels_in(data, path, name)
    if pixels.ndim == 3 and np.array_equal(pixels, np.broadcast_to(pixels[..., :1], pixels.shape)):
        return pixels[..., 0]  # grey, stored as RGB
    if pixels.ndim != 2:
        raise InputError(f"{name}: {str(path)!r} is a colour image; pass a grey one")
    return pixels


def _line(report) -> str:
    return (
        f"{report['image']}: {'x'.join(str(report[side]) for side in ('width', 'height', 'depth') if side in report)}, "
        f"{report['residues']} residues, "
        f"{report['cycles']} cycles, {shown_seconds(report['seconds'])} -> {report['files']['unwrapped']}"
    )


PROGRAM = Program("unwrap", __doc__, "image", INPUTS, _add_options, _plan)
main, run = PROGRAM.main, PROGRAM.run
