"""Trains a demo's small byte-pair vocabulary and encodes documents with it, as the family's tokenizer does.

Why a vocabulary of its own: the releases have 50,000 to 160,000 tokens; beside a 128-wide model such an embedding would
outweigh all the rest. Special tokens have the release's texts and order. The split of Kimi K3 needs the module `regex`, which
knows the class intersection `&&`. Not thread-safe: an encoder keeps a cache of pieces.
"""

import os
import sys
from collections import Counter

import regex

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "formats"))
import tiktoken_file  # noqa: E402
import tokenizer_json  # noqa: E402

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


class SplitsInTurn:
    """Several expressions, each cutting the pieces that the one before left; what lies between two matches is a piece too."""

    def __init__(self, splits):
        self.splits = [regex.compile(f"({split})") for split in splits]

    def findall(self, text):
        pieces = [text]
        for split in self.splits:
            pieces = [part for piece in pieces for part in split.split(piece) if part]
        return pieces


def compiled(split):
    """A split expression of tokenizer.json's kind, or a list of them."""
    return regex.compile(split) if isinstance(split, str) else SplitsInTurn(split)


def train_merges(texts, ranks, split):
    """Byte-pair training on texts: `ranks - 256` pairs of ids."""
    pieces = Counter(piece.encode() for text in texts for piece in split.findall(text))
    return tiktoken_file.train_merges(pieces, ranks - 256)


class DocumentEncoder:
    """Encodes documents; a family gives `split`, `special` {text: id} and piece(bytes)."""

    cache = None

    def text(self, text):
        self.cache = {} if self.cache is None else self.cache
        ids = []
        for piece in self.split.findall(text):
            if piece not in self.cache:
                self.cache[piece] = self.piece(piece.encode())
            ids += self.cache[piece]
        return ids

    def document(self, pieces):
        ids = []
        for kind, piece in pieces:
            ids += [self.special[piece]] if kind == "special" else self.text(piece)
        return ids


class JsonEncoder(DocumentEncoder):
    """A vocabulary of tokenizer.json's kind. `whole_first`: the file's ignore_merges."""

    def __init__(self, vocabulary, split, whole_first):
        self.vocabulary, self.split, self.whole_first = vocabulary, compiled(split), whole_first
        self.special = {text: id for text, (id, _) in vocabulary.added.items()}
        self.vocab_size = vocabulary.size

    def piece(self, piece):
        return self.vocabulary.piece(piece, self.whole_first)

    def decode(self, ids):
        return self.vocabulary.decode(ids)


def glm_encoder(merges):
    return JsonEncoder(tokenizer_json.glm_vocabulary(merges), tokenizer_json.GLM_SPLIT, True)


def deepseek_encoder(merges):
    return JsonEncoder(tokenizer_json.deepseek_vocabulary(merges), tokenizer_json.DEEPSEEK_SPLITS, False)


def olmoe_encoder(merges):
    return JsonEncoder(tokenizer_json.olmoe_vocabulary(merges), tokenizer_json.GPT2_SPLIT, False)


class Encoder(DocumentEncoder):
    """Kimi K3's: a vocabulary given as byte strings in order of rank."""

    split = SPLIT

    def __init__(self, vocabulary):
        self.vocabulary = list(vocabulary)
        self.rank_of = {token: rank for rank, token in enumerate(self.vocabulary)}
        self.special = tiktoken_file.special_tokens(len(self.vocabulary))
        self.special_name = {token: name for name, token in self.special.items()}

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

    def decode(self, ids):
        parts = []
        for token in ids:
            if token < len(self.vocabulary):
                parts.append(self.vocabulary[token])
            else:
                parts.append(self.special_name[token].encode())
        return b"".join(parts).decode("utf-8", errors="replace")
