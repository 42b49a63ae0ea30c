"""Compiling kernels in advance: `cutmatch warmup`."""
