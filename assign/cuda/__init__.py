"""Assignment solvers for NVIDIA GPUs; imported when a GPU is asked for, never before."""
