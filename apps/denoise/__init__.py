"""cutmatch denoise: restore noisy and damaged images."""
