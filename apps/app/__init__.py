"""The page of `cutmatch app`: strokes drawn in a browser, answered by the exact cut.

    app_command     options, the pictures they name, and the server's life
    pictures        the pictures: files of the command line and uploads, read on demand
    desk            what is open: sessions, tabs, undo, autosave; one thread for edits, one for waiting
    tabs            what each tab has seen, and what it is sent next
    messages        the messages of the socket, binary and JSON
    saving          the files written to --out
    server          addresses, and who may use them
    static/         the page itself: HTML, CSS and ES modules, without a build step

The limits and kinds of files that several of these modules share are here.
"""

HOST = "127.0.0.1"
MAX_MESSAGE = 1 << 20  # bytes of a message of the socket
MAX_POINTS = 20_000  # of a stroke; the page stops there, too
MAX_UPLOAD = 256 << 20  # bytes of a picture or a mask that is uploaded
MAX_UPLOADS = 1 << 30  # bytes of all pictures that were uploaded, which are kept in memory
MAX_TABS = 16
OPEN_PICTURES = 3  # whose sessions stay in memory; others are loaded from their session files
