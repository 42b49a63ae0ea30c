"""One grid on several GPUs: each holds a slab, and ghost tiles of the adjacent slabs."""
