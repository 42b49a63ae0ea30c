"""The arc fixing heuristic: an edge whose reduced cost is large will never carry flow again.

For an eps-optimal flow f and a residual edge with c_p > 2 n eps, no flow for a smaller eps uses the edge: the two flows
would differ by a cycle through that edge, whose other edges cannot compensate for it.  n is the number of edges in such
a cycle that may cost -eps, at most two per node of X (`Rules.losses`).  Fixed edges are removed from the
adjacency lists: they are moved behind last[x], with their mates.

Deviates from the paper: edges that stay full permanently (c_p < -2 n eps) are not fixed, because algorithms 5.1 and 5.2
send their unit again in every Refine.

Łupińska. "Parallel implementation of flow and matching algorithms." 2011, section 5.2.
Goldberg, Tarjan. "Finding minimum-cost circulations by successive approximation." Math. Oper. Res. 15, 1990.
"""

from gridcut.device import kernel

REMOVED = -10  # mark in u_f while lists are rearranged, as in the paper


@kernel
def mark(network, threshold):
    """Mark the edges from X without flow whose c_p exceeds the threshold, and their mates; returns their number."""
    first, last, head, mate, c, u_f, _, _, p, x_nodes = network
    found = 0
    for x in range(x_nodes):
        for a in range(first[x], last[x]):
            if u_f[a] == 1 and c[a] + p[x] - p[head[a]] > threshold:
                u_f[a] = REMOVED
                u_f[mate[a]] = REMOVED
                found += 1
    return found


@kernel
def swap(network, a, b):
    """Exchange two edges of one node."""
    head, mate, c, u_f = network.head, network.mate, network.c, network.u_f
    head[a], head[b] = head[b], head[a]
    mate[a], mate[b] = mate[b], mate[a]
    c[a], c[b] = c[b], c[a]
    u_f[a], u_f[b] = u_f[b], u_f[a]
    mate[mate[a]] = a
    mate[mate[b]] = b


@kernel
def take_out(network):
    """Move marked edges behind the others of their node."""
    first, last, u_f, x_nodes = network.first, network.last, network.u_f, network.x_nodes
    for x in range(len(last)):
        end = first[x]
        for a in range(first[x], last[x]):
            if u_f[a] == REMOVED:
                u_f[a] = 1 if x < x_nodes else 0
            else:
                if a != end:
                    swap(network, a, end)
                end += 1
        last[x] = end


def fix_arcs(network, threshold) -> int:
    """Fix the edges from X without flow whose c_p exceeds the threshold; returns their number.  f must be a flow."""
    found = mark(network, threshold)
    if found:
        take_out(network)
    return found
