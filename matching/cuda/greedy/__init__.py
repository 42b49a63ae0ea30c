"""Greedy matching of general graphs on NVIDIA GPUs."""
