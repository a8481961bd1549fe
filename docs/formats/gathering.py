#!/usr/bin/env python3
"""Gatherings without any of vault's code: CPace over ristretto255 (RFC 9496), the sealed stream, and the group check.

Reads the example of gathering.md, takes from it what is drawn and the two cards, computes all else again, and compares.
Written to be compared, not to be fast or safe: nothing here runs in constant time.
"""
import contextlib
import hashlib
import hmac
import importlib.util
import io
import pathlib
import re

here = pathlib.Path(__file__).resolve().parent
spec = importlib.util.spec_from_file_location("group", here / "redistribution.py")
group = importlib.util.module_from_spec(spec)
with contextlib.redirect_stdout(io.StringIO()):  # It prints an example of its own.
    spec.loader.exec_module(group)

page = (here / "gathering.md").read_text()
example = page[page.index("```\nCode\n") :]


def shown(title):
    match = re.search("^" + re.escape(title) + "\n((?:  .*\n)+)", example, re.M)
    return "".join(line.strip() for line in match.group(1).splitlines())


def compare(title, data):
    assert shown(title) == data.hex(), f"{title}: {data.hex()}"
    print(title)


source = (here.parent.parent / "Sources" / "Gathering" / "GatheringWords.swift").read_text()
words = source.split('"""')[1].split()
assert len(words) == 1024 and words == sorted(words)


def lv(*parts):
    data = b""
    for part in parts:
        length = len(part)
        while length > 127:
            data += bytes([length & 127 | 128])
            length >>= 7
        data += bytes([length]) + part
    return data


def sha(data):
    return hashlib.sha512(data).digest()


def keyed(label, key):
    return hashlib.blake2b(len(label).to_bytes(8, "big") + label, digest_size=32, key=key).digest()


def chacha(key, counter, nonce):
    start = [int.from_bytes(b"expand 32-byte k"[i : i + 4], "little") for i in range(0, 16, 4)]
    rest = key + counter.to_bytes(4, "little") + nonce
    start += [int.from_bytes(rest[i : i + 4], "little") for i in range(0, 48, 4)]
    x = start[:]
    columns = [(i, i + 4, i + 8, i + 12) for i in range(4)]
    diagonals = [(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4) for i in range(4)]
    for _ in range(10):
        for a, b, c, d in columns + diagonals:
            for p, q, r, n in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
                x[p] = (x[p] + x[q]) & 0xFFFFFFFF
                x[r] ^= x[p]
                x[r] = (x[r] << n | x[r] >> (32 - n)) & 0xFFFFFFFF
    return b"".join(((v + w) & 0xFFFFFFFF).to_bytes(4, "little") for v, w in zip(x, start))


def seal(key, number, text):
    nonce = bytes(4) + number.to_bytes(8, "little")
    stream = b"".join(chacha(key, 1 + i, nonce) for i in range(len(text) // 64 + 1))
    sealed = bytes(a ^ b for a, b in zip(text, stream))
    one = chacha(key, 0, nonce)
    r = int.from_bytes(one[:16], "little") & 0x0FFFFFFC0FFFFFFC0FFFFFFC0FFFFFFF
    data = sealed + bytes(-len(sealed) % 16) + bytes(8) + len(sealed).to_bytes(8, "little")
    total = 0
    for i in range(0, len(data), 16):
        total = (total + int.from_bytes(data[i : i + 16] + b"\1", "little")) * r % (2**130 - 5)
    tag = (total + int.from_bytes(one[16:32], "little")) % 2**128
    return sealed + tag.to_bytes(16, "little")


number, first, second = 7, "maple", "harbor"
opening, openers_nonce, guests_nonce = bytes([0x21]) * 32, bytes([0x23]) * 32, bytes([0x32]) * 32
subkeys = [bytes([0x22]) * 32, bytes([0x31]) * 32]
revealed, reveal = bytes.fromhex(shown("Alice: revealed")), bytes.fromhex(shown("Bob: reveal"))
cards = [revealed[4:-32], reveal[3:-32]]

assert shown("Code") == f"{number}-{first}-{second}"
password = first.encode().ljust(8, b"\0") + second.encode().ljust(8, b"\0")
compare("Password", password)
ci = b"vault/gathering/v1" + number.to_bytes(2, "big") + opening
compare("CI", ci)
commitments = [
    group.digest(b"vault/gathering-commitment/v1", opening, card, subkey) for card, subkey in zip(cards, subkeys)
]
sid = openers_nonce + guests_nonce
dsi = b"CPaceRistretto255"
padding = bytes(128 - 1 - len(lv(password)) - len(lv(dsi)))
generator = group.derive(sha(lv(dsi, password, padding, ci, sid)))
compare("Generator", generator.encode())
ya, yb = group.scalar(0x33), group.scalar(0x24)
Ya, Yb = (ya * generator).encode(), (yb * generator).encode()
compare("Alice: greeting", b"\1\1" + number.to_bytes(2, "big") + opening + openers_nonce)
compare("Bob: hello", b"\2" + guests_nonce + Ya + commitments[1])
compare("Alice: answer", b"\3" + Yb + commitments[0])
guests, openers = lv(Ya, b"guest" + commitments[1]), lv(Yb, b"opener" + commitments[0])
isk = sha(lv(dsi + b"_ISK", sid, (ya * group.decode(Yb)).encode()) + guests + openers)
compare("ISK", isk)
mac = sha(b"CPaceMac" + sid + isk)
compare("Bob: confirmation", b"\4" + hmac.digest(mac, guests, "sha512"))
compare("Alice: confirmation", b"\4" + hmac.digest(mac, openers, "sha512"))
from_guest, from_opener = keyed(b"vault/gathering-from-guest/v1", isk), keyed(b"vault/gathering-from-opener/v1", isk)
compare("Key from the guest", from_guest)
compare("Key from the opener", from_opener)
closed = bytes([16, 2]) + b"".join(commitments)
compare("Alice: list", closed)
compare("Alice: list, sealed", seal(from_opener, 0, closed))
compare("Bob: yes, sealed", seal(from_guest, 1, bytes.fromhex(shown("Bob: yes")).ljust(98, b"\0")))
parts = [part for pair in zip(cards, subkeys) for part in pair]
transcript = group.digest(b"vault/gathering-transcript/v1", opening, (2).to_bytes(8, "big"), *commitments, *parts)
compare("Transcript", transcript)
bits = int.from_bytes(group.digest(b"vault/gathering-check/v1", transcript)[:4], "big") >> 2
assert " ".join(words[bits >> shift & 1023] for shift in (20, 10, 0)) == shown("Check")
print("Check")
