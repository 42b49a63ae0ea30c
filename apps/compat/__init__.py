"""Functions of OpenCV and scikit-image, and a backend of networkx, to be used by changing one import line."""
