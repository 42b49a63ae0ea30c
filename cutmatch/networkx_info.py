"""The description of the backend, which networkx loads when it is imported itself: so this file imports nothing."""

FUNCTIONS = {
    "hopcroft_karp_matching": "Also `maximum_matching`.",
    "minimum_weight_full_matching": "Without a dense matrix, and exact for integers.",
    "maximum_flow": "Without `flow_func`.",
    "maximum_flow_value": "Without `flow_func`.",
    "minimum_cut": "Without `flow_func`; the partition is that of networkx.",
    "minimum_cut_value": "Without `flow_func`.",
    "network_simplex": "For integers; also in `min_cost_flow` and `max_flow_min_cost`, which call it.",
}


def get_info() -> dict:
    """The functions of the backend, for networkx's documentation and dispatch."""
    return {
        "backend_name": "cutmatch",
        "project": "cutmatch",
        "package": "cutmatch.networkx_backend",
        "short_summary": "Exact matchings, assignments and minimum cuts, compiled.",
        "functions": {name: {"additional_docs": text} for name, text in FUNCTIONS.items()},
    }
