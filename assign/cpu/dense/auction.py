"""Auction with a price step: wip"""
import numpy as np

from assign.cpu.dense.lists import group_count, refresh
from gridcut.device import kernel


@kernel
def auction(
    cost, v, u, limit, col_of, row_of, far, column, price, low, bound, reach, free, waiting, step, most
):
    """Bid until nobody is free."""
    n, m = cost.shape
    k = column.shape[1]
    minima = np.empty(group_count(m), v.dtype)
    nobody = np.empty(0, v.dtype)
    scans = 0
    bids = 0
    while waiting > 0 and bids < most:
        i = free[waiting - 1]
        bids += 1
        first = far
        second = far
        j1 = -1
        for attempt in range(2):
            first = far
            second = far
            j1 = -1
            for e in range(k):
                if low[i, e] >= second:
                    break
                j = column[i, e]
                w = price[i, e] - v[j]
                if w < second:
                    if w < first:
                        second = first
                        first = w
                        j1 = j
                    else:
                        second = w
            if attempt == 1 or first <= bound[i]:
                break
            refresh(cost, i, v, bids, far, minima, nobody, column, price, low, bound, reach)
            scans += 1
        if bound[i] < second:
            second = bound[i]
        if second >= far:
            break
        v[j1] -= second - first + step
        holder = row_of[j1]
        col_of[i] = j1
        row_of[j1] = i
        if holder >= 0:
            col_of[holder] = -1
            free[waiting - 1] = holder
        else:
            waiting -= 1
    return waiting, bids, scans


@kernel
def release(cost, v, u, limit, col_of, row_of, far, column, price, low, bound, reach, free, step):
    """u = least of each row; rows whose pair costs more than eps above it are freed. Returns how many are free."""
    n, m = cost.shape
    k = column.shape[1]
    minima = np.empty(group_count(m), v.dtype)
    nobody = np.empty(0, v.dtype)
    scans = 0
    waiting = 0
    for i in range(n):
        first = far
        for attempt in range(2):
            first = far
            for e in range(k):
                if low[i, e] >= first:
                    break
                w = price[i, e] - v[column[i, e]]
                first = min(first, w)
            if attempt == 1 or first <= bound[i]:
                break
            refresh(cost, i, v, 0, far, minima, nobody, column, price, low, bound, reach)
            scans += 1
        u[i] = first
        j = col_of[i]
        if j >= 0 and cost[i, j] - v[j] > first + step:
            col_of[i] = -1
            row_of[j] = -1
            j = -1
        if j < 0:
            free[waiting] = i
            waiting += 1
    return waiting, scans
