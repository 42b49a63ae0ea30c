"""Loading, measuring and changing problems on NVIDIA GPUs; imported only when a GPU is used."""
