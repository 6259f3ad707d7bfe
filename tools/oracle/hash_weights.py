"""Weights from a hash of the tensor's name and the flat index, and comparison with printed numbers: what the published
vectors of all families share (kimi_k3.md 9.7, glm_5_2.md 10.1, olmoe.md 5.1)."""

import numpy as np

np.seterr(over="ignore")  # 64-bit wrap-around is meant


def fnv1a64(data):
    h = 0xCBF29CE484222325
    for byte in data:
        h = (h ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return h


def hash_words(name, count):
    """z of every flat index: 64-bit wrap-around."""
    z = np.uint64(fnv1a64(name.encode())) + np.arange(count, dtype=np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def uniform(name, shape, rules):
    """float32((2u-1)·a + b) as float64, u = the upper 24 bits; (a, b) of the first rule whose ending fits the name."""
    a, b = next((a, b) for ending, a, b in rules if name.endswith(ending))
    u = (hash_words(name, int(np.prod(shape))) >> np.uint64(40)).astype(np.float64) / 2 ** 24
    return ((2 * u - 1) * a + b).astype(np.float32).astype(np.float64).reshape(shape)


def check_tensors(checks, tensors):
    """Hashes, first values and sums that a vector file prints of some tensors."""
    for name, check in checks.items():
        z = hash_words(name, 2)
        assert f"{fnv1a64(name.encode()):016x}" == check["h"], name
        assert [f"{int(word):016x}" for word in z] == [check["z0"], check["z1"]], name
        assert list(tensors[name].shape) == check["shape"], name
        assert np.allclose(tensors[name].ravel()[:3], check["first3"], rtol=1e-12, atol=0), name
        assert np.isclose(tensors[name].sum(), check["sum"], rtol=1e-11, atol=1e-11), name


class Comparison:
    """Compares with what is printed and remembers the largest difference."""

    def __init__(self, tolerance):
        self.tolerance, self.worst, self.count = tolerance, 0.0, 0

    def close(self, what, ours, printed, tolerance=None):
        difference = np.abs(np.asarray(ours, dtype=np.float64) - np.asarray(printed, dtype=np.float64))
        limit = self.tolerance if tolerance is None else tolerance
        assert difference.max() <= limit, f"{what}: differs by {difference.max():.2e}"
        self.worst, self.count = max(self.worst, difference.max()), self.count + difference.size

    def equal(self, what, ours, printed):
        assert ours == printed, f"{what}: {ours} instead of {printed}"
        self.count += len(ours)
