"""What the commands share: options, images in and files out, errors."""
