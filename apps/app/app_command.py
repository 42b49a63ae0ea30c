"""Draw strokes on images in the browser, and see the exact cut after each.

  cutmatch app                       an empty page; drop images on it
  cutmatch app photo.jpg             an image
  cutmatch app photos/               all images of a folder, with next and previous
  cutmatch app scan.nii.gz           a volume: NIfTI, NRRD, MetaImage, DICOM, .npy, TIFF with several pages
  cutmatch app photo.jpg --start mask.png     refine a rough mask, or one of a network

Paint the object with the left button and the background with the right one.  The page lists all keys with `?`.  It is
served to this machine only, unless --host says otherwise, under an address with a random token, and needs no network.
Ctrl-C ends the server.

  cutmatch app photos/ --host 0.0.0.0         for a telephone in your network, too: prints the address to type there
  cutmatch app photos/ --api --port 8765      also answers other programs: see docs/guide/api.md

Strokes are kept in NAME-session.sqlite in the --out folder, each before it is confirmed; the next run continues there.
Results are written to --out when they are saved in the
page: masks, cut-outs, labels, COCO, GeoJSON, labelme, YOLO; labels of a volume in its own format and geometry.

Exit status: 0 done, 2 the input cannot be used, 70 a defect in cutmatch, 130 stopped by Ctrl-C.
"""

import os
import re
import threading
import webbrowser
from importlib.util import find_spec
from pathlib import Path

from apps.app import HOST
from apps.common.annotations import read_classes
from apps.common.command import check_device, parsed, parser
from apps.common.errors import InputError, print_lines
from apps.common.suggestions import install
from apps.segmentation.location import OPTIONS, check_files

PACKAGES = ("starlette", "uvicorn", "websockets")


def run(argv) -> int:
    """Run the command and return its exit status; raises an error that ends the run."""
    options = parser("app", __doc__)
    options.add_argument("image", nargs="*", help="images or volumes, or folders of them")
    options.add_argument("--start", metavar="FILE", help=OPTIONS["start"])
    options.add_argument("--volume", action="store_true", help="read a folder as the slices of a volume")
    options.add_argument(
        "--out", default="out", metavar="FOLDER", help="folder for sessions and results (default: out)"
    )
    options.add_argument(
        "--classes", metavar="FILE", help="names for objects, one a line, perhaps with a colour as #RRGGBB"
    )
    options.add_argument("--overwrite", action="store_true", help="replace results of other programs")
    options.add_argument(
        "--device", choices=("auto", "cpu", "cuda"), default="auto", help="where to solve (default: %(default)s)"
    )
    options.add_argument("--port", type=int, default=0, metavar="N", help="port of the server (default: any free port)")
    options.add_argument(
        "--host",
        default=HOST,
        metavar="ADDRESS",
        help="address of this machine to serve; 0.0.0.0 for all of them (default: %(default)s, this machine only)",
    )
    options.add_argument("--no-browser", action="store_true", help="print the address only")
    options.add_argument(
        "--api", action="store_true", help="answer other programs, too; the token is that of CUTMATCH_APP_TOKEN, if set"
    )
    chosen = parsed(options, argv)
    if not 0 <= chosen.port <= 65535:
        raise InputError(f"--port must be 0 to 65535, got {chosen.port}")
    if missing := [name for name in PACKAGES if find_spec(name) is None]:
        raise InputError(f"cutmatch app requires {', '.join(missing)}; {install('app', *PACKAGES)}")
    check_device(chosen.device)
    chosen.classes = {} if chosen.classes is None else read_classes(Path(chosen.classes), "--classes")
    token = os.environ.get("CUTMATCH_APP_TOKEN") if chosen.api else None
    if token is not None and not re.fullmatch(r"[A-Za-z0-9_-]{20,200}", token):
        raise InputError("CUTMATCH_APP_TOKEN must be 20 to 200 letters, digits, - or _; unset it for a random token")
    return _serve(chosen, token)


def _serve(chosen, token) -> int:
    from apps.app.server import PageServer, listen, own_address, serve

    sources = _sources(chosen)
    listener = listen(chosen.port, chosen.host)
    app = PageServer(sources, chosen, listener.getsockname()[1], chosen.api, token, own_address(chosen.host))
    print_lines(f"cutmatch app: {app.address}", "Ctrl-C ends the server; strokes are kept.")
    if chosen.host != HOST:
        print_lines(
            f"To type on a telephone in this network; it works once: {app.first_address}",
            "The connection is not encrypted: others in the network could read along. Use a network that you trust.",
        )
    elif not chosen.no_browser and not chosen.api:
        threading.Thread(target=webbrowser.open, args=(app.first_address,), daemon=True).start()
    serve(app, listener)
    return 0


def _sources(chosen):
    """The images that the arguments name."""
    from apps.app.image_sources import Source
    from apps.common.file_kinds import stem_of
    from apps.common.outputs import check_regular_files
    from apps.run.inputs import companion_of
    from apps.segmentation.segment_command import inputs_of

    paths = inputs_of(chosen)[0] if chosen.image else []
    check_regular_files(paths)
    check_files(chosen, paths, ("start",))
    sources = []
    for path in paths:
        if not path.exists():
            raise InputError(f"image: no file {str(path)!r}; check the path")
        start = companion_of(chosen.start, stem_of(path), "--start")
        sources.append(Source(stem_of(path), path, None, start, chosen.volume))
    return sources
