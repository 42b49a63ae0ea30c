"""One grid on several GPUs: a slab each, with the nearest tiles of its neighbours."""
