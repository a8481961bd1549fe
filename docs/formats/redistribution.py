#!/usr/bin/env python3
"""How shares are handed on, without any of vault's code: ristretto255 (RFC 9496) and the formulas of shamirkit.md.

Prints the example of that page's section "Example: handing on". Written to be compared, not to be fast or safe: nothing
here runs in constant time.
"""
import hashlib

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
SQRT_M1 = pow(2, (P - 1) // 4, P)


def negative(x):
    return x % P & 1


def absolute(x):
    x %= P
    return P - x if x & 1 else x


def sqrt_ratio(u, v):
    """Whether u/v is a square, and the root that isn't negative of it or of i·u/v."""
    r = u * pow(v, 3, P) * pow(u * pow(v, 7, P), (P - 5) // 8, P) % P
    check = v * r * r % P
    right, flipped, turned = check == u % P, check == -u % P, check == -u * SQRT_M1 % P
    if flipped or turned:
        r = r * SQRT_M1 % P
    return right or flipped, absolute(r)


INVSQRT_A_MINUS_D = sqrt_ratio(1, -1 - D)[1]
SQRT_AD_MINUS_ONE = sqrt_ratio(-D - 1, 1)[1]
if SQRT_AD_MINUS_ONE != 25063068953384623474111414158702152701244531502492656460079210482610430750235:
    SQRT_AD_MINUS_ONE = P - SQRT_AD_MINUS_ONE


class Point:
    """Extended coordinates on the twisted Edwards curve with a = −1."""

    def __init__(self, x, y, z=1, t=None):
        self.x, self.y, self.z = x % P, y % P, z % P
        self.t = x * y % P if t is None else t % P

    def __add__(self, o):
        a = (self.y - self.x) * (o.y - o.x)
        b = (self.y + self.x) * (o.y + o.x)
        c = 2 * D * self.t * o.t
        d = 2 * self.z * o.z
        e, f, g, h = b - a, d - c, d + c, b + a
        return Point(e * f, g * h, f * g, e * h)

    def __rmul__(self, n):
        n %= L
        total, double = Point(0, 1), self
        while n:
            if n & 1:
                total += double
            double += double
            n >>= 1
        return total

    def encode(self):
        u1 = (self.z + self.y) * (self.z - self.y) % P
        u2 = self.x * self.y % P
        inverse = sqrt_ratio(1, u1 * u2 * u2)[1]
        d1, d2 = inverse * u1 % P, inverse * u2 % P
        z_inverse = d1 * d2 * self.t % P
        x, y, d = self.x, self.y, d2
        if negative(self.t * z_inverse):
            x, y, d = self.y * SQRT_M1 % P, self.x * SQRT_M1 % P, d1 * INVSQRT_A_MINUS_D % P
        if negative(x * z_inverse):
            y = -y
        return absolute(d * (self.z - y)).to_bytes(32, "little")


def decode(data):
    s = int.from_bytes(data, "little")
    ss = s * s % P
    u1, u2 = 1 - ss, 1 + ss
    v = (-D * u1 * u1 - u2 * u2) % P
    square, inverse = sqrt_ratio(1, v * u2 * u2)
    x = absolute(2 * s * inverse * u2)
    y = u1 * inverse * inverse * u2 * v % P
    assert square and not negative(x * y) and y and s < P and not negative(s)
    return Point(x, y)


def derive(wide):
    def half(data):
        r0 = int.from_bytes(data, "little") % 2**255
        r = SQRT_M1 * r0 * r0 % P
        u = (r + 1) * (1 - D * D) % P
        v = (-1 - r * D) * (r + D) % P
        square, s = sqrt_ratio(u, v)
        c = -1
        if not square:
            s, c = -absolute(s * r0), r
        n = (c * (r - 1) * (D - 1) * (D - 1) - v) % P
        w0, w1, w2, w3 = 2 * s * v, n * SQRT_AD_MINUS_ONE, 1 - s * s, 1 + s * s
        return Point(w0 * w3, w2 * w1, w1 * w3, w0 * w2)

    return half(wide[:32]) + half(wide[32:])


G = decode(bytes.fromhex("e2f2ae0a6abc4e71a884a961c500515f58e30b6aa582dd8db6a65945e08d2d76"))
H = derive(hashlib.sha512(b"vault/pedersen-h/v1").digest())
assert H.encode().hex() == "7ee3df497e9fe15601ae77dbaa24d619202ac0ab58bac9ae9ae3eca5c2199813"


def scalar(byte):
    return int.from_bytes(bytes([byte]) * 64, "little") % L


def value(coefficients, x):
    return sum(c * x**d for d, c in enumerate(coefficients)) % L


def at_zero(indices):
    weights = []
    for own in indices:
        w = 1
        for other in indices:
            if other != own:
                w = w * other * pow(other - own, L - 2, L) % L
        weights.append(w)
    return weights


def commit(a, b):
    return (a * G + b * H).encode()


def digest(label, *parts):
    data = b"".join(len(part).to_bytes(8, "big") + part for part in (label,) + parts)
    return hashlib.blake2b(data, digest_size=32).digest()


def le(n):
    return n.to_bytes(32, "little")


def show(name, data):
    print(name)
    text = data.hex()
    for start in range(0, len(text), 64):
        print("    " + text[start : start + 64])


secret_id = bytes(range(16))
f, g = [scalar(1), scalar(2)], [scalar(3), scalar(4)]
show("commitments of the parent", bytes([2]) + b"".join(commit(a, b) for a, b in zip(f, g)))
key = digest(b"vault/file-key/v1", le(f[0]), secret_id)
dealers, threshold, rows = [1, 3], 3, [1, 2, 3]
dealt = {}
for dealer in dealers:
    first = 16 * dealer
    F = [value(f, dealer)] + [scalar(first + 1), scalar(first + 2)]
    Q = [value(g, dealer)] + [scalar(first + 4), scalar(first + 5)]
    dealt[dealer] = (F, Q)
    show(f"points of dealer {dealer}", b"".join(commit(a, b) for a, b in list(zip(F, Q))[1:]))
    for row in rows:
        show(f"subshare of dealer {dealer} for row {row}", le(value(F, row)) + le(value(Q, row)))
weights = at_zero(dealers)
shares = {}
for row in rows:
    new = [sum(w * value(dealt[d][half], row) for w, d in zip(weights, dealers)) % L for half in (0, 1)]
    shares[row] = new
    show(f"share {row} of the new sharing", le(new[0]) + le(new[1]))
sums = []
for degree in range(threshold):
    a, b = (sum(w * dealt[d][half][degree] for w, d in zip(weights, dealers)) % L for half in (0, 1))
    sums.append(commit(a, b))
show("commitments of the new sharing", bytes([threshold]) + b"".join(sums))
assert sums[0] == commit(f[0], g[0])
again = sum(w * shares[row][0] for w, row in zip(at_zero(rows), rows)) % L
assert digest(b"vault/file-key/v1", le(again), secret_id) == key
show("file key", key)
