"""Blue or red by the first quarter of the MD5 digest: algorithm 4 of Fagginger Auer and Bisseling.

colour_r(v): the 16 words v, r v, r^2 v ... are digested by the first 16 of MD5's 64 steps [2]; v is blue if the sum
of the four words of the digest is below p 2^32. As in [1], the words are added after every step, not only after the
last.

`colour_sum` computes the sum for one vertex, `colour_sums` for many, one step for all of them before the next, which
the CPU vectorises.

Deviates from [1]: vertices are numbered from 1, since 0 = r 0 would always have the same colour; r is odd, so that
r^i v keeps all its bits.

[1] Fagginger Auer, Bisseling. "A GPU algorithm for greedy graph matching." Facing the Multicore-Challenge II, 2012.
    Algorithm 4.
[2] Rivest. "The MD5 message-digest algorithm." RFC 1321, 1992, section 3.4.
"""

import math

import numpy as np

from gridcut.device import kernel, plain_kernel

K = np.array([int(2**32 * abs(math.sin(i + 1))) for i in range(16)], np.uint32)
R = np.array([7, 12, 17, 22] * 4, np.uint32)
H = np.array([0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476], np.uint32)


@plain_kernel
def colour_sum(v, r):
    """h0 + h1 + h2 + h3 modulo 2^32; v and r are uint32."""
    h0, h1, h2, h3 = H[0], H[1], H[2], H[3]
    a0, a1, a2, a3 = h0, h1, h2, h3
    for i in range(16):
        a4 = (a1 & a2) | (~a1 & a3)
        a5 = a3
        a3 = a2
        a2 = a1
        x = np.uint32(a0 + a4 + K[i] + v)
        a1 = np.uint32(a1 + ((x << R[i]) | (x >> (32 - R[i]))))
        a0 = a5
        h0 = np.uint32(h0 + a0)
        h1 = np.uint32(h1 + a1)
        h2 = np.uint32(h2 + a2)
        h3 = np.uint32(h3 + a3)
        v = np.uint32(r * v)
    return np.uint32(h0 + h1 + h2 + h3)


@plain_kernel
def step_kernel(a, b, c, d, v, r, total, k, shift):
    """One of MD5's steps for many vertices: a becomes the new b, b the new c, and so on."""
    for i in range(np.uint64(a.size)):
        x = np.uint32(a[i] + ((b[i] & c[i]) | (~b[i] & d[i])) + k + v[i])
        a[i] = np.uint32(b[i] + ((x << shift) | (x >> np.uint32(32 - shift))))
        total[i] += np.uint32(a[i] + b[i] + c[i] + d[i])
        v[i] = np.uint32(r * v[i])


@kernel
def colour_sums(vertices, r, total, workspace):
    """`colour_sum` of some vertices, numbered from 0, into `total`; overwrites workspace, shape (5, >= count)."""
    count = vertices.size
    a, b, c, d, v = (
        workspace[0, :count],
        workspace[1, :count],
        workspace[2, :count],
        workspace[3, :count],
        workspace[4, :count],
    )
    a[:] = H[0]
    b[:] = H[1]
    c[:] = H[2]
    d[:] = H[3]
    total[:count] = H.sum()
    for i in range(count):
        v[i] = np.uint32(vertices[i] + 1)
    for i in range(0, 16, 4):
        step_kernel(a, b, c, d, v, r, total, K[i], R[i])
        step_kernel(d, a, b, c, v, r, total, K[i + 1], R[i + 1])
        step_kernel(c, d, a, b, v, r, total, K[i + 2], R[i + 2])
        step_kernel(b, c, d, a, v, r, total, K[i + 3], R[i + 3])
