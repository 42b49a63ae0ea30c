"""The page of `cutmatch app`: strokes drawn in a browser, answered by the exact cut.

    app_command     options, the images they name, and the server's life
    images          the images: files of the command line and uploads, read on demand
    open_image      an open image: its session, and what tabs are shown of it
    desk            what is open: sessions, tabs, undo, autosave; one thread for edits, one for waiting
    tabs            what each tab has seen, and what it is sent next
    messages        the messages of the socket, binary and JSON
    saving          the files written to --out
    server          addresses, and who may use them
    static/         the page itself: HTML, CSS and ES modules, without a build step

In names and comments, `image` includes volumes, except where a volume is mentioned separately.

The limits and kinds of files that several of these modules share are here.
"""

HOST = "127.0.0.1"
MAX_MESSAGE = 1 << 20  # bytes of a message of the socket
MAX_POINTS = 20_000  # of a stroke; the page stops there, too
MAX_UPLOAD = 256 << 20  # bytes of an image or a mask that is uploaded
MAX_UPLOADS = 1 << 30  # bytes of all images that were uploaded, which are kept in memory
MAX_TABS = 16
MAX_OPEN_IMAGES = 3  # whose sessions stay in memory; others are loaded from their session files
