"""SciPy's functions, to be used by changing one import line."""
