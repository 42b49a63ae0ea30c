"""Matching on NVIDIA GPUs; imported when a GPU is asked for, never before."""
