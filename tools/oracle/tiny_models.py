"""What the tiny models of the goldens share: seeded numbers, and the split of plain prose."""

import re

import numpy as np


class Draw:
    """Normal numbers of a seed, as float32 (what a file can hold); one stream for the whole model.

    The generator is one whose stream numpy keeps fixed for good (RandomState).
    """

    def __init__(self, seed):
        self.stream = np.random.RandomState(seed)

    def normal(self, shape, std):
        return (self.stream.standard_normal(shape) * std).astype(np.float32)

    def shuffled(self, values):
        return self.stream.permutation(np.asarray(values, dtype=np.float32))


def prose_pieces(text):
    """The split of plain ASCII prose, the same in every family for letters, spaces and single punctuation marks."""
    return [piece.encode() for piece in re.findall(r" ?[A-Za-z]+| ?[^\sA-Za-z]+", text)]
