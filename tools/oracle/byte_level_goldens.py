"""Goldens of tokenizer.json files of every kind the families ship: tests/golden/text/byte_level/.

    python3 -m venv V && V/bin/pip install -r tools/oracle/requirements.txt
    V/bin/python tools/oracle/byte_level_goldens.py

Writes tokenizer.json files with the families' splits around one small vocabulary, trained by the package tokenizers on
the texts of tokenizer_texts.json, and the ids and pieces that package gives: with every added token matched ("ids"), and
where it differs with none but runs of blanks ("text_ids"). A third of the merges is left out of the files, so that many
tokens are reached by ignore_merges alone; both settings of it are there.
"""

import json
import os
import sys

import tokenizers
from tokenizers import models, pre_tokenizers, trainers

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "formats"))
from tokenizer_json import GLM_SPLIT  # noqa: E402  (the path above is what makes it importable)

FOLDER = os.path.join(HERE, "..", "..", "tests", "golden", "text", "byte_level")
DEEPSEEK_SPLITS = [
    r"\p{N}{1,3}", "[一-龥぀-ゟ゠-ヿ]+",
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+"""
    r"|\s+(?!\S)|\s+",
]
DEEPSEEK_ADDED = [
    ("<｜begin▁of▁sentence｜>", True, False), ("<｜end▁of▁sentence｜>", True, False), ("<｜User｜>", False, False),
    ("<｜Assistant｜>", False, False), ("<think>", False, False), ("</think>", False, False), ("｜DSML｜", False, False),
]
GLM_ADDED = [("[gMASK]", True, False), ("<sop>", True, False), ("<|user|>", True, False), ("<think>", False, False),
             ("</think>", False, False), ("<tool_call>", False, False)]
# The third: sought in the normal form. Blanks are longest first in no file; order must not matter.
NFC_ADDED = [("<|end|>", True, False), ("  ", False, True), ("     ", False, True), ("   ", False, True),
             ("\u00c5o", False, True), ("e\u0301!", True, False)]
OWN_TEXTS = [
    "<｜begin▁of▁sentence｜>You are a helpful assistant.\n<｜User｜>What is 2+2?<｜Assistant｜></think>", "<｜User｜", "｜DSML｜｜DSML",
    "[gMASK]<sop><|user|>Hello<think>x</think>", "<|user|", "<tool_call><tool_call", "<|end|>  <|end|>", "a  b   c    d     e      f",
    " " * 40, "\u212bo A\u030ao \u00c5o \u212b A\u030a", "e\u0301! \u00e9! e\u0301", "\u1e9b\u0323 \ufb01", "각 \u1100\u1161\u11a8",
    "<|end|>\u0301", "12345中文123かなカナ4567", "a\u0301\u0316b a\u0316\u0301b", "x" * 50, "…—«»", "#include <stdio.h>\n\tint x=1;",
]


def byte_level(use_regex):
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": use_regex}


def splits(patterns):
    if not patterns:
        return byte_level(True)
    steps = [{"type": "Split", "pattern": {"Regex": p}, "behavior": "Isolated", "invert": False} for p in patterns]
    return {"type": "Sequence", "pretokenizers": [*steps, byte_level(False)]}


def trained(texts):
    """vocab and merges of 256 bytes and 400 merges."""
    tokenizer = tokenizers.Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(vocab_size=656, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
                                  show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    model = json.loads(tokenizer.to_str())["model"]
    return model["vocab"], model["merges"]


def file_of(vocab, merges, patterns, added, nfc, ignore_merges, as_pairs):
    first = len(vocab)
    return {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [{"id": first + n, "content": text, "single_word": False, "lstrip": False, "rstrip": False,
                          "normalized": normalized, "special": special}
                         for n, (text, special, normalized) in enumerate(added)],
        "normalizer": {"type": "NFC"} if nfc else None, "pre_tokenizer": splits(patterns),
        "post_processor": byte_level(True), "decoder": byte_level(True),
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                  "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
                  **({"ignore_merges": True} if ignore_merges else {}), "vocab": vocab,
                  "merges": merges if as_pairs else [" ".join(merge) for merge in merges]},
    }


def without_control(stored):
    """The same with added tokens but runs of blanks spelled as no text spells them: ids stay."""
    added = [{**token, "content": token["content"] if not token["content"].strip() else f"\U0010fffe{token['id']}"}
             for token in stored["added_tokens"]]
    return {**stored, "added_tokens": added}


def case(every, plain, text):
    found = every.encode(text, add_special_tokens=False)
    row = {"text": text, "ids": found.ids}
    as_text = plain.encode(text, add_special_tokens=False).ids
    if as_text != found.ids:
        row["text_ids"] = as_text
    return row


def main():
    with open(os.path.join(HERE, "tokenizer_texts.json"), encoding="utf-8") as file:
        texts = json.load(file) + OWN_TEXTS
    vocab, merges = trained(texts)
    kept = [merge for rank, merge in enumerate(merges) if rank % 3 != 2]
    kinds = {
        "deepseek_v4": file_of(vocab, kept, DEEPSEEK_SPLITS, DEEPSEEK_ADDED, False, False, True),
        "glm_merges": file_of(vocab, kept, [GLM_SPLIT], GLM_ADDED, False, False, False),
        "glm_ignore_merges": file_of(vocab, kept, [GLM_SPLIT], GLM_ADDED, False, True, True),
        "nfc": file_of(vocab, kept, [], NFC_ADDED, True, False, False),
    }
    goldens = {}
    for name, stored in kinds.items():
        text = json.dumps(stored, ensure_ascii=False)
        with open(os.path.join(FOLDER, name + ".json"), "w", encoding="utf-8") as out:
            out.write(text + "\n")
        every = tokenizers.Tokenizer.from_str(text)
        plain = tokenizers.Tokenizer.from_str(json.dumps(without_control(stored)))
        goldens[name] = [case(every, plain, item) for item in texts]
        print(name, len(texts), "texts,", sum("text_ids" in row for row in goldens[name]), "with control tokens")
    assert goldens["glm_merges"] != goldens["glm_ignore_merges"]
    with open(os.path.join(FOLDER, "goldens.json"), "w", encoding="utf-8") as out:
        lines = [f'"{name}": [\n' + ",\n".join(json.dumps(row) for row in rows) + "\n]" for name, rows in goldens.items()]
        out.write("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
