"""Tokenizer goldens of OLMoE, GLM-5.2 and DeepSeek-V4 with the tiny vocabularies: tests/golden/FAMILY/tokenizer_goldens.json.

    python3 -m venv V && V/bin/pip install -r tools/oracle/requirements.txt
    V/bin/python tools/oracle/tokenizer_json_goldens.py

Ids come from the package tokenizers, which reads the same tokenizer.json. Three ways to take a text: with every added token
matched ("ids"), with those that are not special ("without_special", where it differs), and with none ("plain", where it
differs). The texts are those of Kimi K3's goldens, tokenizer_texts.json, and some with these families' added tokens.
"""

import json
import os

import tokenizers

HERE = os.path.dirname(os.path.abspath(__file__))
GOLDEN = os.path.join(HERE, "..", "..", "tests", "golden")
OWN_TEXTS = {
    "olmoe": [
        "|||IP_ADDRESS|||<|user|>\nHi\n<|assistant|>\n", "<|endoftext|><|padding|>", "a  b   c    d", " " * 24, " " * 25,
        " " * 60 + "x", "  |||EMAIL_ADDRESS|||  ", "|||PHONE_NUMBER||||||IP_ADDRESS|||", "|||IP_ADDRESS||",
        "e\u0301 \u00e9", "\ufb01 \u2126 \u212b", "\u1e9b\u0323", "x \n  y", "\t  \t", "12345 67", "a|||b",
    ],
    "glm_dsa": [
        "[gMASK]<sop><|user|>Hello<|assistant|><think></think>", "<|user|", "<|user|>>", "<<|user|>", "<think>a</think>b",
        "<tool_call>f<arg_key>k</arg_key><arg_value>v</arg_value></tool_call>", " <think> ", "/nothink", "x/nothinky",
        "[MASK][gMASK][sMASK]", "<|begin_of_box|>7<|end_of_box|>", "e\u0301 \u00e9", "12345 67", "don\u017ft '\u017f 'S",
        "(hello) \"world\" -x", "a\r\n\r\n b", "  \n x", "\u00a0x", "?!\n\nx", "x  y", "<|endoftext|><|observation|>",
    ],
    "deepseek_v4": [
        "<\uff5cbegin\u2581of\u2581sentence\uff5c>You are.\n<\uff5cUser\uff5c>2+2?<\uff5cAssistant\uff5c></think>", "<think>a</think>b",
        "\n\n<\uff5cDSML\uff5ctool_calls>\n<\uff5cDSML\uff5cinvoke name=\"f\">", "<\uff5cUser", "<|EOT|>", "1234567 89", "12\u4e00\u4e8c34",
        "\u3042\u30ab\u6f22\u5b57abc", "x.y (z) #tag $5", "e\u0301 \u00e9", "a\r\n\r\n b", "  \n x", "!foo ?bar", "don't 'x", "\u9fa6\u9fa5",
        "\u4f60\u597d\uff0c\u4e16\u754c\uff01", "\u2460\u00bd3", "\u00a0x", " $", "a\u200db",
    ],
}


def variants(directory):
    """(all added tokens, no special ones, none)."""
    path = os.path.join(directory, "tokenizer.json")
    with open(path, encoding="utf-8") as file:
        stored = json.load(file)
    every = tokenizers.Tokenizer.from_file(path)
    without = tokenizers.Tokenizer.from_file(path)
    without.encode_special_tokens = True
    plain = tokenizers.Tokenizer.from_str(json.dumps({**stored, "added_tokens": []}))
    return every, without, plain


def case(tokenizer_variants, text):
    every, without, plain = (kind.encode(text, add_special_tokens=False).ids for kind in tokenizer_variants)
    row = {"text": text, "ids": every}
    if without != every:
        row["without_special"] = without
    if plain != every:
        row["plain"] = plain
    return row


def check_prompts(family, tokenizer):
    """The prompts of the models are what their ids say."""
    for name in sorted(os.listdir(os.path.join(GOLDEN, family))):
        path = os.path.join(GOLDEN, family, name, "golden.json")
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                golden = json.load(file)
            assert tokenizer.encode(golden["prompt"], add_special_tokens=False).ids == golden["prompt_ids"], name


def main(family):
    kinds = variants(os.path.join(GOLDEN, family, "a"))
    check_prompts(family, kinds[0])
    with open(os.path.join(HERE, "tokenizer_texts.json"), encoding="utf-8") as file:
        cases = [case(kinds, text) for text in [*json.load(file), *OWN_TEXTS[family]]]
    with open(os.path.join(GOLDEN, family, "tokenizer_goldens.json"), "w", encoding="utf-8") as out:
        out.write('{\n"vocabulary": "a/tokenizer.json",\n"cases": [\n')
        out.write(",\n".join(json.dumps(row) for row in cases) + "\n]\n}\n")
    print(f"{family}: {len(cases)} texts, {sum('plain' in row for row in cases)} with added tokens")


if __name__ == "__main__":
    for chosen in OWN_TEXTS:
        main(chosen)
