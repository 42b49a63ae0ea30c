"""Push-relabel on tiles of 1024 pixels: the default max-flow method on a GPU."""
