"""The spanning tree of the network simplex method: its arrays, the path between two nodes, and the exchange of an arc.

A node u other than the root has the arc pred[u] between u and parent[u].  Arrays:

    parent[u]     -1: the root
    pred[u]       the arc to the parent
    up[u]         1: pred[u] leads from u to its parent, -1: from the parent to u
    thread[u]     the next node in depth-first order, which visits the subtree of u as one run; a circle
    before[u]     the node before u in this order
    size[u]       number of nodes in the subtree of u
    last[u]       the last of them in depth-first order
    price[u]      such that c_p = 0 for every arc of the tree

The exchange of an arc follows LEMON [1]: it changes the path from the new end of the subtree to the old one, and the
order around it, not the rest of the subtree.

[1] Király, Kovács. "Efficient implementations of minimum-cost flow algorithms." Acta Univ. Sapientiae
    Informatica 4, 2012.
[2] Ahuja, Magnanti, Orlin. "Network Flows." Prentice Hall, 1993, section 11.3.
"""

from typing import NamedTuple

import numpy as np

from gridcut.device import inlined_kernel

UP, DOWN = 1, -1


class Tree(NamedTuple):
    """The arrays above, for the nodes and the root; `changed` has room for one node per node."""

    parent: np.ndarray
    pred: np.ndarray
    up: np.ndarray
    thread: np.ndarray
    before: np.ndarray
    size: np.ndarray
    last: np.ndarray
    price: np.ndarray
    changed: np.ndarray


@inlined_kernel
def join_of(tree, u, v):
    """The lowest common ancestor of two nodes."""
    while u != v:
        if tree.size[u] < tree.size[v]:
            u = tree.parent[u]
        else:
            v = tree.parent[v]
    return u


@inlined_kernel
def attach(tree, u, parent, arc, up):
    """Make `arc` the arc of u to a parent."""
    tree.parent[u] = parent
    tree.pred[u] = arc
    tree.up[u] = up


@inlined_kernel
def move_subtree(tree, u, v_in, old_before, old_last):
    """Move the subtree of u, which keeps its root, behind v_in in the depth-first order."""
    thread, before = tree.thread, tree.before
    if thread[v_in] == u:
        return
    after = thread[old_last]
    thread[old_before] = after
    before[after] = old_before
    after = thread[v_in]
    thread[v_in] = u
    before[u] = v_in
    thread[old_last] = after
    before[after] = old_last


@inlined_kernel
def reroot(tree, u_in, u_out, v_in, old_before, old_last):
    """Make u_in the root of the subtree of u_out, and move it behind v_in in the depth-first order."""
    parent, _, _, thread, before, _, last, _, changed = tree
    resume = thread[old_last] if old_before == v_in else thread[v_in]
    stem, new_parent = u_in, v_in
    end = last[u_in]
    after = thread[end]
    thread[v_in] = u_in
    changed[0] = v_in
    count = 1
    while stem != u_out:
        next_stem = parent[stem]
        thread[end] = next_stem
        changed[count] = end
        count += 1
        previous = before[stem]  # take the subtree of stem out of the order
        thread[previous] = after
        before[after] = previous
        parent[stem] = new_parent
        new_parent = stem
        stem = next_stem
        end = before[new_parent] if last[stem] == last[new_parent] else last[stem]
        after = thread[end]
    parent[u_out] = new_parent
    thread[end] = resume
    before[resume] = end
    last[u_out] = end
    if old_before != v_in:
        thread[old_before] = after
        before[after] = old_before
    for i in range(count):
        before[thread[changed[i]]] = changed[i]


@inlined_kernel
def reverse_stem(tree, u_in, u_out):
    """Turn the arcs of the path from u_out up to u_in, whose parents are new, and count its subtrees again."""
    total = 0
    end = tree.last[u_out]
    u = u_out
    while u != u_in:
        above = tree.parent[u]
        tree.pred[u] = tree.pred[above]
        tree.up[u] = -tree.up[above]
        total += tree.size[u] - tree.size[above]
        tree.size[u] = total
        tree.last[above] = end
        u = above


@inlined_kernel
def exchange(tree, u_in, u_out, v_in, join, arc, up):
    """Replace the arc of u_out by `arc` between u_in, in the subtree of u_out, and v_in, outside of it.

    join   the lowest common ancestor of u_in and v_in before
    up     UP if `arc` leads from u_in to v_in
    """
    parent, size, last = tree.parent, tree.size, tree.last
    v_out = parent[u_out]
    old_before, old_size, old_last = tree.before[u_out], size[u_out], last[u_out]
    if u_in == u_out:
        move_subtree(tree, u_out, v_in, old_before, old_last)
    else:
        reroot(tree, u_in, u_out, v_in, old_before, old_last)
        reverse_stem(tree, u_in, u_out)
        size[u_in] = old_size
    attach(tree, u_in, v_in, arc, up)
    limit = join if last[join] == v_in else -1
    new_last = last[u_out]
    u = v_in
    while u != -1 and last[u] == v_in:
        last[u] = new_last
        u = parent[u]
    replaced = new_last if join == old_before or v_in == old_before else old_before
    u = v_out
    while u != limit and u != -1 and last[u] == old_last:
        last[u] = replaced
        u = parent[u]
    u = v_in
    while u != join:
        size[u] += old_size
        u = parent[u]
    u = v_out
    while u != join:
        size[u] -= old_size
        u = parent[u]


@inlined_kernel
def shift_prices(tree, u, amount):
    """Add an amount to all prices of the subtree of u; or take it from all others, if these are fewer."""
    end = tree.thread[tree.last[u]]
    if 2 * tree.size[u] > tree.size.size:
        u, end, amount = end, u, -amount
    while True:
        tree.price[u] += amount
        u = tree.thread[u]
        if u == end:
            break
