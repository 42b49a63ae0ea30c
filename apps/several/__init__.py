"""Several objects at once, in pictures and in volumes."""
