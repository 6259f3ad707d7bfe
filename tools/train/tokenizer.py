"""Trains the demo's small byte-pair vocabulary and encodes documents with it, as Kimi K3's tokenizer does (spec 5).

Why a vocabulary of its own: the release has 163,584 ranks; beside a 128-wide model such an embedding would outweigh all the
rest. The 256 special ids follow the ranks at the release's offsets. The split needs the module `regex`, which knows the
class intersection `&&`. Not thread-safe: the encoder keeps a cache of pieces.
"""

import os
import sys
from collections import Counter

import regex

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "formats"))
import tiktoken_file  # noqa: E402

SPLIT = regex.compile("|".join([
    r"[\p{Han}]+",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"\p{N}{1,3}",
    r" ?[^\s\p{L}\p{N}]+[\r\n]*",
    r"\s*[\r\n]+",
    r"\s+(?!\S)",
    r"\s+",
]), regex.VERSION1)


def train(texts, ranks):
    """Byte-pair training on texts: the vocabulary as `ranks` byte strings in order of rank."""
    pieces = Counter(piece.encode() for text in texts for piece in SPLIT.findall(text))
    merges = tiktoken_file.train_merges(pieces, ranks - 256)
    return tiktoken_file.extend_by_merges(tiktoken_file.byte_vocabulary(), merges)


class Encoder:
    """Encodes pieces and documents with a vocabulary given as byte strings in order of rank."""

    def __init__(self, vocabulary):
        self.vocabulary = list(vocabulary)
        self.rank_of = {token: rank for rank, token in enumerate(self.vocabulary)}
        self.special = tiktoken_file.special_tokens(len(self.vocabulary))
        self.special_name = {token: name for name, token in self.special.items()}
        self.cache = {}

    @property
    def vocab_size(self):
        return len(self.vocabulary) + tiktoken_file.SPECIALS

    def piece(self, piece):
        """Ids of one split piece (bytes): the whole piece if it has a rank, else merges of lowest rank first."""
        if piece in self.rank_of:
            return [self.rank_of[piece]]
        parts = [bytes([b]) for b in piece]
        while True:
            ranks = [self.rank_of.get(a + b) for a, b in zip(parts, parts[1:])]
            known = [(rank, i) for i, rank in enumerate(ranks) if rank is not None]
            if not known:
                return [self.rank_of[part] for part in parts]
            _, i = min(known)
            parts[i : i + 2] = [parts[i] + parts[i + 1]]

    def text(self, text):
        ids = []
        for piece in SPLIT.findall(text):
            if piece not in self.cache:
                self.cache[piece] = self.piece(piece.encode())
            ids += self.cache[piece]
        return ids

    def document(self, pieces):
        ids = []
        for kind, piece in pieces:
            ids += [self.special[piece]] if kind == "special" else self.text(piece)
        return ids

    def decode(self, ids):
        parts = []
        for token in ids:
            if token < len(self.vocabulary):
                parts.append(self.vocabulary[token])
            else:
                parts.append(self.special_name[token].encode())
        return b"".join(parts).decode("utf-8", errors="replace")
