"""Tokenizer goldens of Kimi K3 with the tiny vocabulary: tests/golden/kimi_k3/tokenizer_goldens.json.

    python3 -m venv VENV && VENV/bin/pip install tiktoken regex
    VENV/bin/python tools/oracle/tokenizer_goldens.py

Ids come from the Python package tiktoken, which the model's own release uses, with the pattern of 5.3. A second
road, the package `regex` for the split and a merge loop of our own, must give the same ids.
Both modes of 5.5, and the cutting of very long text of 5.4. The texts are in tokenizer_texts.json.
"""

import json
import os
import sys

import regex
import tiktoken

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "formats"))
import tiktoken_file  # noqa: E402  (the path above is what makes it importable)

GOLDEN = os.path.join(HERE, "..", "..", "tests", "golden", "kimi_k3")
UPPER, LOWER = r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}", r"\p{Ll}\p{Lm}\p{Lo}\p{M}"
ENDINGS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
TAIL = [r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+"]


def pattern(upper, lower):
    """The eight alternatives of 5.3 around the two classes of cased letters."""
    before = r"[^\r\n\p{L}\p{N}]?"
    return "|".join([r"[\p{Han}]+", f"{before}{upper}*{lower}+{ENDINGS}", f"{before}{upper}+{lower}*{ENDINGS}", *TAIL])


VERBATIM = pattern(f"[{UPPER}&&[^\\p{{Han}}]]", f"[{LOWER}&&[^\\p{{Han}}]]")
# The same for the package `regex`: no class intersection, Script=Han spelt out, White_Space instead of its \s.
SPELT_OUT = (pattern(f"(?:(?!\\p{{Script=Han}})[{UPPER}])", f"(?:(?!\\p{{Script=Han}})[{LOWER}])")
             .replace(r"\p{Han}", r"\p{Script=Han}")
             .replace(r"\S", r"\P{White_Space}").replace(r"\s", r"\p{White_Space}"))

MAX_SLICE = 400_000  # characters (5.4)
MAX_RUN = 25_000  # consecutive whitespace or consecutive non-whitespace characters

# Long texts as (string, how often) parts; what the file holds is a count and a hash of the ids.
LONG = [
    [["QUJDRA", 5000]], [[" ", 30000], ["end", 1]], [["word ", 6000]], [["word ", 100000]],
    [["x", 25000]], [["x", 25001]], [["ab", 12500], ["c", 1]], [[" ", 25001]], [["\n", 25001], ["x", 1]],
    [["a", 24999], [" ", 1], ["b", 50001]], [["x", 100000]], [["中", 25001]], [["中文 ", 10000]], [["👋", 26000]],
    [["\u001c", 25001]], [["1", 25001]], [["=", 25002], ["\r\n", 3]], [["word ", 79999], ["tail", 2], [" more", 10]],
    # cuts in the middle of a token, of a group of three digits, of a character run that only isspace() interrupts
    [["qui", 9000]], [["x", 1], ["ther", 7000]], [["02", 13000]], [["x", 2], ["qui\u001c", 7000]],
    [["x", 2], ["qui\u200b", 7000]], [["x", 3], ["qui\u0085", 7000]], [["qui", 30000], [" \n", 13000], ["qui", 9000]],
]


def long_parts(text):
    """5.4: slices of 400,000 characters, each cut again wherever a run of (non-)whitespace would exceed 25,000."""
    for at in range(0, len(text), MAX_SLICE):
        part = text[at:at + MAX_SLICE]
        start, run = 0, 0
        for number, character in enumerate(part):
            same = number > 0 and character.isspace() == part[number - 1].isspace()
            run = run + 1 if same else 1
            if run > MAX_RUN:
                yield part[start:number]
                start, run = number, 1
        yield part[start:]


def fnv1a64(data):
    h = 0xCBF29CE484222325
    for byte in data:
        h = (h ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return h


class Tokenizer:
    def __init__(self, vocabulary):
        self.vocabulary = vocabulary
        self.encoding = tiktoken.Encoding("kimi_k3_tiny", pat_str=VERBATIM,
                                          mergeable_ranks={token: rank for rank, token in enumerate(vocabulary)},
                                          special_tokens=tiktoken_file.special_tokens(len(vocabulary)))

    def text_mode(self, text):
        return [token for part in long_parts(text) for token in self.encoding.encode_ordinary(part)]

    def special_mode(self, text):
        return [token for part in long_parts(text) for token in self.encoding.encode(part, allowed_special="all")]

    def second_road(self, text):
        """Pieces by the package `regex`, merges by our own loop."""
        pieces = regex.findall(SPELT_OUT, text)
        assert "".join(pieces) == text
        ids = [token for piece in pieces for token in tiktoken_file.encode_piece(self.vocabulary, piece.encode())]
        return ids, pieces


def case(tokenizer, text):
    ids = tokenizer.text_mode(text)
    second, pieces = tokenizer.second_road(text)
    assert ids == second, (text, ids, second)
    assert tokenizer.encoding.decode_bytes(ids) == text.encode()
    row = {"text": text, "pieces": pieces, "ids": ids}
    special = tokenizer.special_mode(text)
    assert tokenizer.encoding.decode_bytes(special) == text.encode()
    if special != ids:
        row["special_ids"] = special
    return row


def long_case(tokenizer, recipe):
    text = "".join(string * count for string, count in recipe)
    ids = tokenizer.text_mode(text)
    return {"repeat": recipe, "part_lengths": [len(part) for part in long_parts(text)], "count": len(ids),
            "uncut_count": len(tokenizer.encoding.encode_ordinary(text)),
            "fnv1a64_of_u32le_ids": f"{fnv1a64(b''.join(token.to_bytes(4, 'little') for token in ids)):016x}"}


def check_prompts(tokenizer):
    """The prompts of the two models are what their ids say."""
    for name in ("a", "b"):
        with open(os.path.join(GOLDEN, name, "golden.json"), encoding="utf-8") as file:
            golden = json.load(file)
        assert tokenizer.text_mode(golden["prompt"]) == golden["prompt_ids"], name


def main():
    vocabulary = tiktoken_file.read_tiktoken_model(os.path.join(GOLDEN, "a", "tiktoken.model"))
    assert vocabulary == tiktoken_file.trivial_vocabulary()
    tokenizer = Tokenizer(vocabulary)
    check_prompts(tokenizer)
    with open(os.path.join(HERE, "tokenizer_texts.json"), encoding="utf-8") as file:
        cases = [case(tokenizer, text) for text in json.load(file)]
    long = [long_case(tokenizer, recipe) for recipe in LONG]
    assert any(row["count"] != row["uncut_count"] for row in long), "no text shows the cut"
    with open(os.path.join(GOLDEN, "tokenizer_goldens.json"), "w", encoding="utf-8") as out:
        out.write('{\n"vocabulary": "a/tiktoken.model",\n"cases": [\n')
        out.write(",\n".join(json.dumps(row) for row in cases) + '\n],\n"long": [\n')
        out.write(",\n".join(json.dumps(row) for row in long) + "\n]\n}\n")
    print(f"{len(cases)} texts, {sum('special_ids' in row for row in cases)} with specials, {len(long)} long ones")


if __name__ == "__main__":
    main()
