"""The page of `cutmatch app`: strokes drawn in a browser, answered by the exact cut.

    app_command     options, the images they name, and the server's life
    image_sources   the images: files of the command line and uploads, read on demand
    live            the images: their sessions, the edits that wait for them, and the messages of tabs
    tabs            what each tab has seen, and what it is sent next
    messages        the messages of the socket, binary and JSON
    saved_results   the files in --out
    server          addresses, who may use them, and the life of the server
    prompts         strokes, boxes and masks that other programs send, all of them in one request, and the answer
    ending          what follows Ctrl-C
    notebook        the page in the output of a notebook's cell
    static/         the page itself: HTML, CSS and ES modules, without a build step

In names and comments, `image` includes volumes, except where a volume is mentioned separately.

The limits and kinds of files that several of these modules share are here.
"""

HOST = "127.0.0.1"
MAX_MESSAGE = 1 << 20  # bytes of a message of the socket
MAX_POINTS = 20_000  # of a stroke; the page stops there, too
MAX_UPLOAD = 256 << 20  # bytes of an image or a mask that is uploaded
MAX_REQUEST = 32 << 20  # bytes of a request of another program
MAX_UPLOADS = 1 << 30  # bytes of all images that were uploaded, which are kept in memory
MAX_OPEN_IMAGES = 3  # whose sessions stay in memory; others are read from their files
