"""Motion between pictures: points matched by exact assignment, flow, tracks and wide-baseline pairs."""
