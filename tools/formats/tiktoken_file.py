"""Vocabulary files of the tiktoken kind, as Kimi K3 ships them (spec 5.1, 5.5, 9.4).

A vocabulary is a list of byte strings; the index is the rank and the token id. The first 256 are the single bytes in
GPT-2 order, each later one is the concatenation of two earlier ones. The 256 special tokens follow the ranks and are
not in the file; their names are at fixed offsets from the number of ranks.
"""

import base64
import collections

SPECIALS = 256
OFFSET = {"bos": 0, "eos": 1, "end_of_msg": 2, "open": 3, "close": 4, "sep": 5, "start_header": 6, "end_header": 7,
          "eot": 9, "media_begin": 18, "media_content": 19, "media_end": 20, "media_pad": 21, "osagent_mode": 65,
          "unk": 254, "pad": 255}
SPECIAL_TEXT = {0: "[BOS]", 1: "[EOS]", 2: "<|end_of_msg|>", 3: "<|open|>", 4: "<|close|>", 5: "<|sep|>",
                6: "[start_header_id]", 7: "[end_header_id]", 9: "[EOT]", 18: "<|media_begin|>",
                19: "<|media_content|>", 20: "<|media_end|>", 21: "<|media_pad|>", 65: "<osagent_mode>",
                254: "[UNK]", 255: "[PAD]"}

# The text from which the trivial vocabulary learns its merges: prose, code, markup, digits, and other scripts.
TRIVIAL_TEXT = """The capital of France is Paris. The quick brown fox jumps over the lazy dog and then the other one.
It's not that they weren't there; we'll see what she would have said, and I'd say you've done well. What is this?
When in the course of the long winter the rivers of the north were frozen, the traders came on foot over the ice,
carrying the things that people there could not make: iron, salt, needles, and the news of other countries.
user system assistant message role think response tools call argument index type string number name key
def main(args): return [int(x) for x in args] if args else None  # comment
for (int i = 0; i < 100; ++i) { sum += data[i] * scale; } // "quoted" 'text'
{"name": "value", "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
<p class="note">1 234 567.89 and 2024-01-15</p> https://example.org/path?query=1&other=2
你好，世界！我是一个模型。今天的天气很好，我们去公园。 こんにちは、世界。 안녕하세요 세계
Привет, мир! Как дела? naïve café Ångström straße 👋🏽 🧑‍💻 🇫🇷
"""


def gpt2_byte_order():
    """The 256 byte values in rank order: printable ones first, then the rest, each rising."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    return printable + [value for value in range(256) if value not in set(printable)]


def byte_vocabulary():
    return [bytes([value]) for value in gpt2_byte_order()]


def extend_by_merges(vocabulary, pairs):
    """The vocabulary with one token appended for each pair of earlier ids."""
    extended = list(vocabulary)
    for left, right in pairs:
        assert left < len(extended) and right < len(extended)
        extended.append(extended[left] + extended[right])
    assert len(set(extended)) == len(extended), "two ranks hold the same bytes"
    return extended


def train_merges(pieces, count):
    """Byte-pair encoding: `count` pairs of ids, learned from `{piece (bytes): how often}`.

    Each step takes the most frequent adjacent pair; ties go to the lower pair of ids. A pair whose bytes are already a
    token is skipped. Counts are kept up to date piece by piece, so a corpus of some megabytes is a matter of minutes.
    """
    vocabulary = byte_vocabulary()
    rank_of = {token: rank for rank, token in enumerate(vocabulary)}
    words = [([rank_of[bytes([byte])] for byte in piece], often) for piece, often in sorted(pieces.items())]
    counts, where = collections.Counter(), collections.defaultdict(set)
    for number, (ids, often) in enumerate(words):
        for pair in zip(ids, ids[1:]):
            counts[pair] += often
            where[pair].add(number)
    merges = []
    while len(merges) < count:
        known = [pair for pair, often in counts.items() if often > 0]
        assert known, f"the text is too short for {count} merges"
        best = min(known, key=lambda pair: (-counts[pair], pair))
        if vocabulary[best[0]] + vocabulary[best[1]] in rank_of:
            del counts[best]
            continue
        new = len(vocabulary)
        vocabulary.append(vocabulary[best[0]] + vocabulary[best[1]])
        rank_of[vocabulary[-1]] = new
        merges.append(best)
        for number in sorted(where.pop(best)):
            _merge_in_word(words[number], number, best, new, counts, where)
        counts.pop(best, None)
    return merges


def _merge_in_word(word, number, pair, new, counts, where):
    """Replaces `pair` by `new` in one word and keeps the pair counts right."""
    ids, often = word
    for old in zip(ids, ids[1:]):
        counts[old] -= often
    at = 0
    while at + 1 < len(ids):
        if (ids[at], ids[at + 1]) == pair:
            ids[at:at + 2] = [new]
        at += 1
    for fresh in zip(ids, ids[1:]):
        counts[fresh] += often
        where[fresh].add(number)


def trivial_merges(ranks=512):
    """The `ranks - 256` merges of the tiny checkpoints, learned from TRIVIAL_TEXT."""
    pieces = collections.Counter()
    for line in TRIVIAL_TEXT.splitlines():
        for number, word in enumerate(line.split(" ")):
            pieces[(" " if number else "").encode() + word.encode()] += 1
    pieces.pop(b"", None)
    return train_merges(pieces, ranks - 256)


def trivial_vocabulary(ranks=512):
    """The vocabulary of the tiny checkpoints: 256 bytes, and the tokens that the merges make."""
    return extend_by_merges(byte_vocabulary(), trivial_merges(ranks))


def encode_piece(vocabulary, piece):
    """Token ids of one piece (bytes): the adjacent pair of lowest rank is merged first, leftmost on ties (5.2)."""
    rank_of = {token: rank for rank, token in enumerate(vocabulary)}
    parts = [bytes([byte]) for byte in piece]
    while True:
        ranks = [(rank_of[a + b], at) for at, (a, b) in enumerate(zip(parts, parts[1:])) if a + b in rank_of]
        if not ranks:
            return [rank_of[part] for part in parts]
        _, at = min(ranks)
        parts[at:at + 2] = [parts[at] + parts[at + 1]]


def special_tokens(base):
    """`{text: id}` of the 256 special tokens of a vocabulary with `base` ranks."""
    ids = range(base, base + SPECIALS)
    return {SPECIAL_TEXT.get(id - base, f"<|reserved_token_{id}|>"): id for id in ids}


def write_tiktoken_model(path, vocabulary):
    """One line per rank: base64 of the bytes, a space, the rank."""
    with open(path, "wb") as out:
        for rank, token in enumerate(vocabulary):
            out.write(base64.b64encode(token) + b" " + str(rank).encode() + b"\n")


def read_tiktoken_model(path):
    with open(path, "rb") as file:
        return [base64.b64decode(line.split(b" ")[0]) for line in file.read().splitlines()]
