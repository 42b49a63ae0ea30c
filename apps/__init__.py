"""One program per application, on images: the only place that knows files, colours and terminals.

Every program is also a library call of the same module.  Importing this package imports nothing else.
"""
