"""Kernel of `apps.motion.agreement`: a robust affine fit to the motion of the neighbours of each query point."""

import numpy as np

from gridcut.device import inner_kernel, kernel

BUFFERS = 5  # arrays (K,) of a thread


@inner_kernel
def median_of(values, buffer):
    """Return the median of a few values, by insertion sort into `buffer`, an array of the same size."""
    count = len(values)
    for k in range(count):
        slot = k
        while slot > 0 and buffer[slot - 1] > values[k]:
            buffer[slot] = buffer[slot - 1]
            slot -= 1
        buffer[slot] = values[k]
    return 0.5 * (buffer[(count - 1) // 2] + buffer[count // 2])


# args: an entry call, to which Python passes arrays one by one in half the time that a bundle takes
@kernel
def local_fit_kernel(
    begin, end, points, index, distance, first, motion, confidence, ridge, reweightings, buffers, fit, linear, spread
):
    """Fill begin..end of fit (Q, 2), linear (Q, 2, 2), spread (Q,) from the neighbours index (Q, K) of points (Q, 2).

    Weighted least squares for m(x) = t + A (x - x0), `reweightings` times, with Geman-McClure weights of the distances
    from the previous fit; the first distances are those from the median motion.
    """
    count = index.shape[1]
    dx, dy, base_weight, residual, buffer = buffers
    for q in range(begin, end):
        scale = 0.0
        for k in range(count):
            scale += distance[q, k]
        scale = max(scale / count, 1.0)
        total = 0.0
        for k in range(count):
            i = index[q, k]
            dx[k] = (first[i, 0] - points[q, 0]) / scale
            dy[k] = (first[i, 1] - points[q, 1]) / scale
            base_weight[k] = confidence[i] / (0.25 + (distance[q, k] / scale) ** 2)
            total += base_weight[k]
        for k in range(count):
            base_weight[k] /= total
        for k in range(count):
            residual[k] = motion[index[q, k], 0]
        mx = median_of(residual, buffer)
        for k in range(count):
            residual[k] = motion[index[q, k], 1]
        my = median_of(residual, buffer)
        a00 = a01 = a10 = a11 = 0.0
        for iteration in range(reweightings + 1):
            for k in range(count):
                i = index[q, k]
                ex = motion[i, 0] - mx - a00 * dx[k] - a01 * dy[k]
                ey = motion[i, 1] - my - a10 * dx[k] - a11 * dy[k]
                residual[k] = np.sqrt(ex * ex + ey * ey)
            median = median_of(residual, buffer)
            if iteration == reweightings:
                break
            sigma = 1.5 * median + 0.3
            s0 = sx = sy = sxx = sxy = syy = 0.0
            u0 = ux = uy = v0 = vx = vy = 0.0
            for k in range(count):
                i = index[q, k]
                w = base_weight[k] / (1.0 + (residual[k] / sigma) ** 2) ** 2
                s0 += w
                sx += w * dx[k]
                sy += w * dy[k]
                sxx += w * dx[k] * dx[k]
                sxy += w * dx[k] * dy[k]
                syy += w * dy[k] * dy[k]
                u, v = w * motion[i, 0], w * motion[i, 1]
                u0 += u
                ux += u * dx[k]
                uy += u * dy[k]
                v0 += v
                vx += v * dx[k]
                vy += v * dy[k]
            # With the means subtracted, the linear part is the solution of a 2 x 2 system.
            cx, cy, cu, cv = sx / s0, sy / s0, u0 / s0, v0 / s0
            mxx, mxy, myy = sxx / s0 - cx * cx + ridge, sxy / s0 - cx * cy, syy / s0 - cy * cy + ridge
            pux, puy, pvx, pvy = ux / s0 - cx * cu, uy / s0 - cy * cu, vx / s0 - cx * cv, vy / s0 - cy * cv
            det = mxx * myy - mxy * mxy
            a00, a01 = (pux * myy - puy * mxy) / det, (puy * mxx - pux * mxy) / det
            a10, a11 = (pvx * myy - pvy * mxy) / det, (pvy * mxx - pvx * mxy) / det
            mx, my = cu - a00 * cx - a01 * cy, cv - a10 * cx - a11 * cy
        fit[q, 0], fit[q, 1] = mx, my
        linear[q, 0, 0], linear[q, 0, 1] = a00 / scale, a01 / scale
        linear[q, 1, 0], linear[q, 1, 1] = a10 / scale, a11 / scale
        spread[q] = median
