"""Image programs on top of the solvers, one folder per program.  Only this package reads images and prints.

Every image program is also a library call: `from apps.denoise import denoise`.  Importing this package imports nothing
else.
"""
