"""cutmatch: exact graph cuts, assignments and matchings on images, from the command line.

  cutmatch demo          segment a few real images and follow motion between two, no files needed
  cutmatch segment       cut objects out of images and volumes: strokes, a box, a trimap or seeds say where
  cutmatch superpixels   divide images into connected regions of nearly one colour, as many as asked for
  cutmatch denoise       take noise out of images and fill holes, without blurring edges
  cutmatch stereo        how near things are, from two images of a rectified pair
  cutmatch flow          the motion of every pixel from one frame to the next
  cutmatch match         points of two images of one scene, and how one lies in the other
  cutmatch track         points or particles over many frames
  cutmatch matching      match rows and columns of a sparse matrix, as many as can be
  cutmatch info          versions, devices, threads, where machine code is kept

`cutmatch NAME --help` explains each; `python -m apps.NAME` is the same.

Exit status: 0 done, 1 some inputs of a batch failed or the disk is full, 2 the input or an option cannot be used, 70 a
defect in cutmatch (please report it), 130 stopped by Ctrl-C.
"""

import sys
from importlib import import_module

from apps.common.errors import BAD_INPUT, finish, print_error, print_lines

# name -> the module whose main(argv) runs it
COMMANDS = {
    "demo": "apps.demo",
    "segment": "apps.segment.segment_command",
    "superpixels": "apps.superpixels.superpixels_command",
    "denoise": "apps.denoise.denoise_command",
    "stereo": "apps.stereo.stereo_command",
    "flow": "apps.flow.flow_command",
    "match": "apps.match.match_command",
    "track": "apps.track.track_command",
    "matching": "apps.matching",
    "info": "apps.info",
}


def main(argv=None) -> int:
    """Run the command named first in `argv` (default: the process's arguments); its exit status."""
    return finish("cutmatch", lambda: _main(list(sys.argv[1:] if argv is None else argv)))


def _main(argv) -> int:
    if not argv or argv[0] in ("-h", "--help"):
        print_lines(__doc__.strip())
        return 0 if argv else BAD_INPUT
    if argv[0] == "--version":
        from importlib.metadata import version

        print_lines(f"cutmatch {version('cutmatch')}")
        return 0
    if argv[0] not in COMMANDS:
        print_error(f"cutmatch: no command {argv[0]!r}; there are {', '.join(COMMANDS)}")
        return BAD_INPUT
    # Loaded on demand: a command must not wait for what only another one needs.
    return import_module(COMMANDS[argv[0]]).main(argv[1:])


if __name__ == "__main__":
    sys.exit(main())
