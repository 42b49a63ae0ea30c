"""Solvers for NVIDIA GPUs, one algorithm a file or folder; imported when a GPU is asked for, never before."""
