"""The default: an initial matching and a search chosen by the structure of the graph."""
