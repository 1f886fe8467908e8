#!/usr/bin/env python3
"""Writes random_stream.txt: checksums of what NumPy's default_rng gives, for tests/core/test_random.c.

A line: words of the seed in base 2^32 (hexadecimal, least significant first, with commas), how many numbers, and the
checksums of that many normals and then, from the same stream, as many uniforms. A checksum is the sum of
(2 i + 1) * bits(number i) modulo 2^64, so it depends on every bit and on the order.

Usage: make_random.py > tests/golden/random_stream.txt
"""
import numpy as np

CASES = [
    (0, 2_000_000),
    (1, 1_000_000),
    (2, 1_000),
    (42, 100_000),
    (2**31, 1_000),
    (2**32 - 1, 1_000),
    (2**32, 1_000),
    (2**63 - 1, 100_000),
    (2**64, 1_000),
    (10**40, 1_000),
    (2**160 + 12345, 1_000),
    ([1, 2, 3], 1_000),
    ([0, 2**40, 0, 7, 11, 13], 1_000),
]


def words(seed):
    if isinstance(seed, list):
        return [w for s in seed for w in words(s)]
    out = [seed & 0xFFFFFFFF]
    while seed := seed >> 32:
        out.append(seed & 0xFFFFFFFF)
    return out


def checksum(numbers):
    weights = 2 * np.arange(numbers.size, dtype=np.uint64) + np.uint64(1)
    return int((numbers.view(np.uint64) * weights).sum(dtype=np.uint64))


for seed, count in CASES:
    rng = np.random.default_rng(seed)
    normals, uniforms = checksum(rng.normal(size=count)), checksum(rng.random(count))
    print(",".join(f"{w:x}" for w in words(seed)), count, f"{normals:016x}", f"{uniforms:016x}")
