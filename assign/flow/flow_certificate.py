"""Certificate of a flow of minimum cost: bounds, conservation, and prices that satisfy complementary slackness.

    c_p(x, y) = cost + price[x] - price[y]  >= 0  for arcs with flow below the capacity
                                            <= 0  for arcs with flow above the lower bound

Then no cycle of the residual network has a negative cost, and the flow is optimal.  All conditions are computed from
the caller's arguments and compared as integers.  No solver shares this code.

[1] Ahuja, Magnanti, Orlin. "Network Flows." Prentice Hall, 1993, section 9.3.
"""

import numpy as np

from assign.core.certificate import exact_integers
from assign.flow.flow_problem import UNLIMITED, GivenNetwork
from gridcut.device import CertificateError
from gridcut.device.arguments import INT64_MAX


def certify_flow(given: GivenNetwork, flow: np.ndarray, total: int, price: np.ndarray) -> None:
    """Certify a flow, its cost and its prices; raises CertificateError."""
    network, lower = given
    n, m = network.nodes, len(network.tail)
    if (flow.shape, price.shape) != ((m,), (n,)) or flow.dtype.kind != "i" or price.dtype.kind != "i":
        raise CertificateError(f"flow and price must be integers of the shapes ({m},) and ({n},)")
    used = flow - lower
    full = (used == network.capacity) & (network.capacity < UNLIMITED)
    if ((used < 0) | (used > network.capacity)).any():
        raise CertificateError("a flow is below its lower bound or above its capacity")
    balance = network.supply.copy()
    np.subtract.at(balance, network.tail, used)
    np.add.at(balance, network.head, used)
    if balance.any():
        node = int(np.flatnonzero(balance)[0])
        raise CertificateError(f"the flow does not satisfy the supply of node {node}")
    price = exact_integers(price)
    reduced = network.cost + price[network.tail] - price[network.head]
    if (reduced[~full] < 0).any():
        raise CertificateError("the prices do not fit: an arc below its capacity has a negative reduced cost")
    if (reduced[used > 0] > 0).any():
        raise CertificateError("the prices do not fit: an arc with flow has a positive reduced cost")
    if exact_total(network.cost, flow) != total:
        raise CertificateError("the cost is not that of the flow")


def exact_total(cost: np.ndarray, flow: np.ndarray) -> int:
    """The sum of cost * flow, as Python's integers where int64 might overflow."""
    bound = float(np.abs(cost.astype(np.float64)).max(initial=0)) * float(np.abs(flow.astype(np.float64)).sum())
    if bound < INT64_MAX / 2:
        return int(np.dot(cost, flow))
    return sum(c * f for c, f in zip(cost.tolist(), flow.tolist(), strict=True))
