"""Variational refinement of a flow: constancy of grey values and gradients, and a smooth motion [1].

    E(w) = sum_p   BRIGHTNESS_WEIGHT / 2 * |grey difference|  +  GRADIENT_WEIGHT / 2 * |gradient difference|
                 + SMOOTHNESS_WEIGHT / 2 * |gradient of w|

The differences are linear in the change d of the flow and divided by the length of their gradients; |x| stands for
sqrt(x^2 + EPSILON^2).  A fixed-point iteration computes the weights of the quadratic terms from d, and then changes d
by red-black successive over-relaxation of the linear system.  The energy and the iterations are those of OpenCV's
VariationalRefinement.

Arrays are planes of the two colours of a checkerboard, so that a row of one colour is updated by vector instructions:

    plane[colour, 1 + y, 1 + j]   pixel (y, 2 * j + p) with p = (y + colour) % 2; one line of padding around

An iteration is one pass over the rows.  The half-sweeps follow one another one row apart, and the linear system is
written to a ring of rows just ahead of them, so that all of it stays in the cache.  A thread also relaxes the
neighbouring rows from which half-sweeps reach its own; hence the result does not depend on the number of threads.

[1] Brox, Bruhn, Papenberg, Weickert. "High accuracy optical flow estimation based on a theory for warping." ECCV 2004.
"""

import numpy as np

from gridcut.device import inlined_kernel, inner_kernel, kernel, run_threads, thread_count

SMOOTHNESS_WEIGHT = 2.0
BRIGHTNESS_WEIGHT = 0.3  # of grey values
GRADIENT_WEIGHT = 5 / 3
FIXED_POINT_ITERATIONS = 6
SOR_ITERATIONS = 10
RELAXATION = np.float32(1.6)
EPSILON_SQUARED = np.float32(1e-6)
MIN_GRADIENT_SQUARED = np.float32(0.01)  # added to the squared gradients by which differences are divided
MIN_PIXELS_PER_THREAD = 60_000  # with fewer, the rows relaxed by two threads cost too much
SMOOTHNESS = np.float32(SMOOTHNESS_WEIGHT / 2)
BRIGHTNESS = np.float32(BRIGHTNESS_WEIGHT / 2)
GRADIENT = np.float32(GRADIENT_WEIGHT / 2)
ONE = np.float32(1)
SPARE_ROWS = 4  # of a ring of rows, more than half-sweeps
# Planes of a thread: the change of the flow, the flow, the weights of the smoothness, and the linear system
#   [1 / r11  a12] [du]   [b1]
#   [a12  1 / r22] [dv] = [b2]
DU, DV, U, V, WEIGHT, R11, A12, R22, B1, B2, SCRATCH_PLANES = range(11)


def variational(
    first: np.ndarray,
    warped: np.ndarray,
    flow: np.ndarray,
    fixed_point_iterations: int = FIXED_POINT_ITERATIONS,
    sor_iterations: int = SOR_ITERATIONS,
) -> np.ndarray:
    """Return `flow`, float32 (H, W, 2), after one refinement.

    Parameters
    ----------
    first : ndarray of float32, (H, W)
        The first frame, grey, 0 to 255.
    warped : ndarray of float32, (H, W)
        The second frame warped by the flow.
    flow : ndarray of float32, (H, W, 2)
    fixed_point_iterations, sor_iterations : int
        Iterations of the weights, and sweeps per iteration.
    """
    height, width = first.shape
    cells = 2, height + 2, (width + 1) // 2 + 2
    terms = np.empty((9, *cells), np.float32)
    terms_kernel(*_derivatives(first, warped), terms)
    base = np.empty((2, *cells), np.float32)
    for component in range(2):
        split_kernel(flow[..., component], base[component])
    change, changed = np.zeros((2, *cells), np.float32), np.zeros((2, *cells), np.float32)
    half_sweeps = 2 * sor_iterations
    threads = max(1, min(thread_count(), first.size // MIN_PIXELS_PER_THREAD))
    begins = [height * thread // threads for thread in range(threads + 1)]
    scratch = np.zeros((threads, SCRATCH_PLANES, 2, half_sweeps + SPARE_ROWS, cells[2]), np.float32)
    partial = np.empty((threads, 2, cells[2] - 2), np.float32)

    def iterate(thread):
        begin, end = begins[thread], begins[thread + 1]
        top, bottom = max(0, begin - half_sweeps - 1), min(height, end + half_sweeps + 1)
        iterate_kernel(begin, end, top, bottom, width, terms, base, change, scratch[thread], partial[thread], changed)

    for _ in range(fixed_point_iterations):
        run_threads(iterate, threads)
        change, changed = changed, change
    refined = np.empty_like(flow)
    merge_kernel(base, change, refined)
    return refined


def _derivatives(first: np.ndarray, warped: np.ndarray) -> list[np.ndarray]:
    """Return Ix, Iy, Iz, Ixx, Ixy, Iyy, Ixz and Iyz of the mean of both frames (I) and their difference (Iz)."""
    import cv2

    def slope(plane, x, y):
        return cv2.Sobel(plane, -1, x, y, ksize=1, borderType=cv2.BORDER_REPLICATE)

    mean, off = np.float32(0.5) * (first + warped), warped - first
    dx, dy = slope(mean, 1, 0), slope(mean, 0, 1)
    return [dx, dy, off, slope(dx, 1, 0), slope(dx, 0, 1), slope(dy, 0, 1), slope(off, 1, 0), slope(off, 0, 1)]


@inlined_kernel
def reciprocal_root(square):
    return np.true_divide(ONE, np.sqrt(square))


@kernel
def terms_kernel(dx, dy, dz, dxx, dxy, dyy, dxz, dyz, terms):
    """Write the three linear differences: their slopes in u and v, and their values, divided by their gradients."""
    H, W = dx.shape
    for y in range(H):
        for colour in range(2):
            p = (y + colour) & 1
            for j in range((W + 1) // 2):
                x = min(2 * j + p, W - 1)
                factor = reciprocal_root(dx[y, x] * dx[y, x] + dy[y, x] * dy[y, x] + MIN_GRADIENT_SQUARED)
                terms[0, colour, y + 1, j + 1] = dx[y, x] * factor
                terms[1, colour, y + 1, j + 1] = dy[y, x] * factor
                terms[2, colour, y + 1, j + 1] = dz[y, x] * factor
                factor = reciprocal_root(dxx[y, x] * dxx[y, x] + dxy[y, x] * dxy[y, x] + MIN_GRADIENT_SQUARED)
                terms[3, colour, y + 1, j + 1] = dxx[y, x] * factor
                terms[4, colour, y + 1, j + 1] = dxy[y, x] * factor
                terms[5, colour, y + 1, j + 1] = dxz[y, x] * factor
                factor = reciprocal_root(dyy[y, x] * dyy[y, x] + dxy[y, x] * dxy[y, x] + MIN_GRADIENT_SQUARED)
                terms[6, colour, y + 1, j + 1] = dxy[y, x] * factor
                terms[7, colour, y + 1, j + 1] = dyy[y, x] * factor
                terms[8, colour, y + 1, j + 1] = dyz[y, x] * factor


@kernel
def split_kernel(plane, planes):
    """Split an image (H, W) into the planes of both colours; the padding repeats its border."""
    H, W = plane.shape
    _, rows, columns = planes.shape
    for row in range(rows):
        y = min(max(row - 1, 0), H - 1)
        for colour in range(2):
            p = (row - 1 + colour) & 1
            for column in range(columns):
                planes[colour, row, column] = plane[y, min(max(2 * (column - 1) + p, 0), W - 1)]


@kernel
def merge_kernel(base, change, flow):
    """Write the sum of the planes, pixel by pixel."""
    H, W, _ = flow.shape
    for y in range(H):
        for x in range(W):
            colour, j = (x + y) & 1, x // 2
            for c in range(2):
                flow[y, x, c] = base[c, colour, y + 1, j + 1] + change[c, colour, y + 1, j + 1]


@kernel
def iterate_kernel(begin, end, top, bottom, width, terms, base, change, scratch, partial, changed):
    """One fixed-point iteration of the rows begin to end, computed from the rows top to bottom.

    Row y is in row y % ring of the planes of `scratch`, whose first and last columns are 0.
    """
    N, ring = scratch.shape[3] - 2, scratch.shape[2]
    half_sweeps = ring - SPARE_ROWS
    inside = slice(1, N + 1)
    clear_row(top - 1, scratch)
    load_row(top, base, change, scratch)
    # Half-sweep s relaxes row y one step after half-sweep s - 1 has relaxed row y + 1.
    for last in range(top, bottom + half_sweeps):
        if last + 1 < bottom:
            load_row(last + 1, base, change, scratch)
        elif last + 1 == bottom:
            clear_row(bottom, scratch)
        if last < bottom:
            for colour in range(2):
                weights_of_row(last, colour, last + 1 == bottom, width, scratch)
            for colour in range(2):
                system_of_row(last, colour, last + 1 == bottom, width, terms, base, scratch, partial)
        for s in range(half_sweeps):
            if top <= last - s < bottom:
                relax_row(last - s, s & 1, scratch, partial[0])
        done = last - half_sweeps
        if begin <= done < end:
            for c in range(2):
                for colour in range(2):
                    copy_row(scratch[DU + c, colour, done % ring, inside], changed[c, colour, done + 1, inside])


@inner_kernel
def clear_row(y, scratch):
    """Fill the change of the flow and the weights of a row outside the image with zeros."""
    row = y % scratch.shape[2]
    for colour in range(2):
        for i in range(scratch.shape[3]):
            scratch[DU, colour, row, i] = scratch[DV, colour, row, i] = scratch[WEIGHT, colour, row, i] = np.float32(0)


@inner_kernel
def load_row(y, base, change, scratch):
    """Copy the change of the flow in a row, and add it to the flow."""
    N, row = scratch.shape[3] - 2, y % scratch.shape[2]
    inside = slice(1, N + 1)
    for c in range(2):
        for colour in range(2):
            old = change[c, colour, y + 1, inside]
            copy_row(old, scratch[DU + c, colour, row, inside])
            add_row(base[c, colour, y + 1, inside], old, scratch[U + c, colour, row, inside])


@inner_kernel
def weights_of_row(y, colour, is_last, width, scratch):
    """Write the weights of the smoothness, of the edges from each pixel to the right and down."""
    N, ring = scratch.shape[3] - 2, scratch.shape[2]
    row, p = y % ring, (y + colour) & 1
    other = 1 - colour
    # The differences across the border of the image are 0.
    below, under = (row, colour) if is_last else ((y + 1) % ring, other)
    u, v, weight = scratch[U], scratch[V], scratch[WEIGHT, colour, row]
    gradient_row(
        u[colour, row, 1 : N + 1],
        u[other, row, 1 + p : N + 1 + p],
        u[under, below, 1 : N + 1],
        v[colour, row, 1 : N + 1],
        v[other, row, 1 + p : N + 1 + p],
        v[under, below, 1 : N + 1],
        weight[1 : N + 1],
    )
    if (width - 1) % 2 == p:
        j = 1 + (width - 1) // 2
        du, dv = u[under, below, j] - u[colour, row, j], v[under, below, j] - v[colour, row, j]
        weight[j] = np.true_divide(SMOOTHNESS, np.sqrt(du * du + dv * dv + EPSILON_SQUARED))


@inner_kernel
def system_of_row(y, colour, is_last, width, terms, base, scratch, partial):
    """Write the linear system of a row, from its weights and those of the row above."""
    N, ring = scratch.shape[3] - 2, scratch.shape[2]
    row, p = y % ring, (y + colour) & 1
    other = 1 - colour
    inside, right, left = slice(1, N + 1), slice(1 + p, N + 1 + p), slice(p, N + p)
    du, dv = scratch[DU, colour, row, inside], scratch[DV, colour, row, inside]
    weight = scratch[WEIGHT, colour, row, inside]
    weight_left, weight_up = scratch[WEIGHT, other, row, left], scratch[WEIGHT, other, (y - 1) % ring, inside]
    grey, gradient = partial[0], partial[1]
    g0, g1, g2 = terms[0, colour, y + 1, inside], terms[1, colour, y + 1, inside], terms[2, colour, y + 1, inside]
    h0, h1, h2 = terms[3, colour, y + 1, inside], terms[4, colour, y + 1, inside], terms[5, colour, y + 1, inside]
    k0, k1, k2 = terms[6, colour, y + 1, inside], terms[7, colour, y + 1, inside], terms[8, colour, y + 1, inside]
    grey_row(g0, g1, g2, du, dv, grey)
    gradients_row(h0, h1, h2, k0, k1, k2, du, dv, gradient)
    edges = np.float32(1 if is_last else 2)
    r11, r22 = scratch[R11, colour, row, inside], scratch[R22, colour, row, inside]
    diagonal_row(g0, h0, k0, grey, gradient, weight, weight_left, weight_up, edges, r11)
    diagonal_row(g1, h1, k1, grey, gradient, weight, weight_left, weight_up, edges, r22)
    j = (width - 1) // 2
    if (width - 1) % 2 == p:  # no edge leads to the right from the last pixel
        r11[j] = np.true_divide(ONE, np.true_divide(ONE, r11[j]) - weight[j])
        r22[j] = np.true_divide(ONE, np.true_divide(ONE, r22[j]) - weight[j])
    elif width % 2 == 1:  # the last cell is outside the image
        r11[N - 1] = r22[N - 1] = np.float32(0)
    product_row(g0, g1, h0, h1, k0, k1, grey, gradient, scratch[A12, colour, row, inside])
    b1, b2 = scratch[B1, colour, row, inside], scratch[B2, colour, row, inside]
    product_row(g0, g2, h0, h2, k0, k2, grey, gradient, b1)
    product_row(g1, g2, h1, h2, k1, k2, grey, gradient, b2)
    for c in range(2):
        here, around = base[c, colour, y + 1, inside], base[c, other]
        up, down = around[y, inside], around[y + 2, inside] if not is_last else here
        b = scratch[B1 + c, colour, row, inside]
        smoothness_row(here, around[y + 1, left], around[y + 1, right], up, down, weight, weight_left, weight_up, b)


@inner_kernel
def relax_row(y, colour, scratch, total):
    """Relax the change of the flow in the pixels of one colour of a row."""
    N, ring = scratch.shape[3] - 2, scratch.shape[2]
    row, above, below = y % ring, (y - 1) % ring, (y + 1) % ring
    p, other = (y + colour) & 1, 1 - colour
    inside, right, left = slice(1, N + 1), slice(1 + p, N + 1 + p), slice(p, N + p)
    weight = scratch[WEIGHT, colour, row, inside]
    weight_left, weight_up = scratch[WEIGHT, other, row, left], scratch[WEIGHT, other, above, inside]
    a12 = scratch[A12, colour, row, inside]
    for c in range(2):
        plane, b = scratch[DU + c, other], scratch[B1 + c, colour, row, inside]
        here, up, down = plane[row], plane[above, inside], plane[below, inside]
        neighbours_row(here[left], here[right], up, down, weight, weight_left, weight_up, b, total)
        reciprocal = scratch[R22 if c == 1 else R11, colour, row, inside]
        relax(total, scratch[DV - c, colour, row, inside], a12, reciprocal, scratch[DU + c, colour, row, inside])


# The loops over a row.  The compiler vectorises them as long as at most eight arrays are read, since it tests at run
# time that none of them overlaps the one that is written.


@inner_kernel
def copy_row(source, target):
    for i in range(target.size):
        target[i] = source[i]


@inner_kernel
def add_row(one, two, total):
    for i in range(total.size):
        total[i] = one[i] + two[i]


@inner_kernel
def gradient_row(u, u_right, u_down, v, v_right, v_down, weight):
    for i in range(weight.size):
        ux, uy, vx, vy = u_right[i] - u[i], u_down[i] - u[i], v_right[i] - v[i], v_down[i] - v[i]
        weight[i] = np.true_divide(SMOOTHNESS, np.sqrt(ux * ux + vx * vx + uy * uy + vy * vy + EPSILON_SQUARED))


@inner_kernel
def grey_row(g0, g1, g2, du, dv, weight):
    for i in range(weight.size):
        off = g2[i] + g0[i] * du[i] + g1[i] * dv[i]
        weight[i] = np.true_divide(BRIGHTNESS, np.sqrt(off * off + EPSILON_SQUARED))


@inner_kernel
def gradients_row(h0, h1, h2, k0, k1, k2, du, dv, weight):
    for i in range(weight.size):
        x = h2[i] + h0[i] * du[i] + h1[i] * dv[i]
        y = k2[i] + k0[i] * du[i] + k1[i] * dv[i]
        weight[i] = np.true_divide(GRADIENT, np.sqrt(x * x + y * y + EPSILON_SQUARED))


@inner_kernel
def diagonal_row(g, h, k, grey, gradient, weight, weight_left, weight_up, edges, reciprocal):
    for i in range(reciprocal.size):
        data = grey[i] * (g[i] * g[i]) + gradient[i] * (h[i] * h[i] + k[i] * k[i]) + MIN_GRADIENT_SQUARED
        reciprocal[i] = np.true_divide(ONE, data + edges * weight[i] + weight_left[i] + weight_up[i])


@inner_kernel
def product_row(g, f, h, i_, k, l_, grey, gradient, product):
    for i in range(product.size):
        product[i] = grey[i] * (g[i] * f[i]) + gradient[i] * (h[i] * i_[i] + k[i] * l_[i])


@inner_kernel
def smoothness_row(here, left, right, up, down, weight, weight_left, weight_up, b):
    for i in range(b.size):
        ahead = weight[i] * ((right[i] - here[i]) + (down[i] - here[i]))
        b[i] = ahead - weight_left[i] * (here[i] - left[i]) - weight_up[i] * (here[i] - up[i]) - b[i]


@inlined_kernel
def neighbours_row(left, right, up, down, weight, weight_left, weight_up, b, total):
    for i in range(total.size):
        total[i] = weight_left[i] * left[i] + weight[i] * (right[i] + down[i]) + weight_up[i] * up[i] + b[i]


@inlined_kernel
def relax(total, across, a12, reciprocal, change):
    for i in range(change.size):
        change[i] += RELAXATION * ((total[i] - across[i] * a12[i]) * reciprocal[i] - change[i])
