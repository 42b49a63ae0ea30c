"""cutmatch: exact graph cuts, assignments and matchings on images, from the command line.

  cutmatch demo          process a few real images; no files needed
  cutmatch segment       cut objects out of images and volumes, from strokes, a box or a trimap
  cutmatch refine        refine the masks of other programs to the exact outlines in the image
  cutmatch app           draw strokes on images in the browser, and see the exact cut after each
  cutmatch superpixels   divide images into connected regions of nearly one colour, in exactly the number requested
  cutmatch denoise       remove noise from images and fill holes, without blurring edges
  cutmatch stereo        compute the disparities of a rectified pair of images
  cutmatch flow          compute the motion of every pixel from one frame to the next
  cutmatch match         match points between two images of a scene, and find their geometry
  cutmatch track         track points or particles over many frames
  cutmatch matching      find a maximum matching of the rows and columns of a sparse matrix
  cutmatch warmup        compile all kernels now, so that no later run waits for it
  cutmatch info          show versions, devices, threads and compiled kernels

`cutmatch NAME --help` lists the options of each command.

Exit status: 0 done, 1 some inputs of a batch failed or the disk is full, 2 the input or an option cannot be used, 70 a
defect in cutmatch (please report it), 130 stopped by Ctrl-C.
"""

import sys
from importlib import import_module

from apps.common.errors import BAD_INPUT, ending, print_error, print_lines

# name: module whose run(argv) runs the command
COMMANDS = {
    "demo": "apps.demo",
    "segment": "apps.segmentation.segment_command",
    "refine": "apps.refinement.refine_command",
    "app": "apps.app.app_command",
    "superpixels": "apps.regions.superpixels_command",
    "denoise": "apps.denoising.denoise_command",
    "stereo": "apps.stereo_matching.stereo_command",
    "flow": "apps.optical_flow.flow_command",
    "match": "apps.point_matching.match_command",
    "track": "apps.tracking.track_command",
    "matching": "apps.matching",
    "warmup": "apps.warmup.warmup_command",
    "info": "apps.info",
}


def main(argv=None) -> int:
    """Run the command that `argv[0]` names (default: the process's arguments) and return its exit status."""
    argv = list(sys.argv[1:] if argv is None else argv)
    name = argv[0] if argv else ""
    with ending(f"cutmatch {name}" if name in COMMANDS else "cutmatch") as end:
        if name in COMMANDS:
            # Imported on demand, so that a command does not wait for the imports of another.
            end.status = import_module(COMMANDS[name]).run(argv[1:])
        else:
            end.status = _without_command(name)
    return end.status


def _without_command(name: str) -> int:
    """Answer --help, --version and a name that is no command's; return the exit status."""
    if name in ("", "-h", "--help"):
        print_lines(__doc__.strip())
        return 0 if name else BAD_INPUT
    if name == "--version":
        from importlib.metadata import version

        print_lines(f"cutmatch {version('cutmatch')}")
        return 0
    from apps.common.suggestions import meant

    print_error(f"cutmatch: no command {name!r};{meant(name, COMMANDS)} the commands are {', '.join(COMMANDS)}")
    return BAD_INPUT


if __name__ == "__main__":
    sys.exit(main())
