"""Volumes in files: values, geometry and format are read together, and labels are written back like the volume."""
