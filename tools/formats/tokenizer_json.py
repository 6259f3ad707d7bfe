"""Writes and uses tokenizer.json files: byte-level BPE as OLMoE (GPT-NeoX kind), GLM-5.2 (cl100k kind) and DeepSeek-V4
(four splits in a row) ship them.

A vocabulary is a list of byte strings, the first 256 the single bytes in GPT-2 order, and `merges`, pairs of indices into
it: number n makes token 256 + n. In the file every byte is a printable character (GPT-2's alphabet), ids may start above
0, and added tokens are strings with ids of their own, matched before anything else. Formats: olmoe.md 4,
glm_5_2.md 7, deepseek_v4.md 5.
"""

import json
import os

import tiktoken_file

GLM_SPLIT = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
             r"|\s+(?!\S)|\s+")
GPT2_SPLIT = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"

# Added tokens of GLM-5.2 in the order of their ids, and whether each is special (7).
GLM_ADDED = [
    ("<|endoftext|>", True), ("[MASK]", True), ("[gMASK]", True), ("[sMASK]", True), ("<sop>", True), ("<eop>", True),
    ("<|system|>", True), ("<|user|>", True), ("<|assistant|>", True), ("<|observation|>", True),
    ("<|begin_of_image|>", True), ("<|end_of_image|>", True), ("<|begin_of_video|>", True), ("<|end_of_video|>", True),
    ("<|begin_of_audio|>", True), ("<|end_of_audio|>", True), ("<|begin_of_transcription|>", True),
    ("<|end_of_transcription|>", True), ("<|code_prefix|>", True), ("<|code_middle|>", True), ("<|code_suffix|>", True),
    ("<think>", False), ("</think>", False), ("<tool_call>", False), ("</tool_call>", False),
    ("<tool_response>", False), ("</tool_response>", False), ("<arg_key>", False), ("</arg_key>", False),
    ("<arg_value>", False), ("</arg_value>", False), ("/nothink", False), ("<|begin_of_box|>", False),
    ("<|end_of_box|>", False), ("<|image|>", False), ("<|video|>", False),
]
DEEPSEEK_SPLITS = [
    r"\p{N}{1,3}", "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*"""
    r"""|\s*[\r\n]+|\s+(?!\S)|\s+""",
]
DEEPSEEK_FIRST = ["<\uff5cbegin\u2581of\u2581sentence\uff5c>", "<\uff5cend\u2581of\u2581sentence\uff5c>",
                  "<\uff5c\u2581pad\u2581\uff5c>"]  # ids 0, 1, 2; special
# After the merges, in the release's order with gaps left out; none of them special.
DEEPSEEK_ADDED = [
    "<\uff5cfim\u2581hole\uff5c>", "<\uff5cfim\u2581begin\uff5c>", "<\uff5cfim\u2581end\uff5c>", "<\uff5cUser\uff5c>",
    "<\uff5cAssistant\uff5c>", "<|EOT|>", "<think>", "</think>", "\uff5cDSML\uff5c", "<\uff5clatest_reminder\uff5c>",
    "<\uff5caction\uff5c>", "<\uff5cquery\uff5c>", "<\uff5cauthority\uff5c>", "<\uff5cdomain\uff5c>", "<\uff5ctitle\uff5c>",
    "<\uff5cread_url\uff5c>",
]
OLMOE_FIRST = 2  # ids 0 and 1 are the end of text and the padding; the bytes follow
OLMOE_LONGEST_RUN = 24  # runs of 2..24 spaces are added tokens after the merges
OLMOE_LAST = ["|||PHONE_NUMBER|||", "|||EMAIL_ADDRESS|||", "|||IP_ADDRESS|||"]  # the last one ends a text


def byte_characters():
    """The printable character of each byte value: itself where it is printable, else U+0100 and up in order."""
    order = tiktoken_file.gpt2_byte_order()
    printable = order.index(0)  # byte 0 is the first that needs a stand-in
    return {byte: chr(byte) if at < printable else chr(256 + at - printable) for at, byte in enumerate(order)}


class Vocabulary:
    """Tokens (byte strings) with ids from `first`, merges as pairs of indices, added tokens `{text: (id, special)}`."""

    def __init__(self, merges, first, added):
        self.tokens = tiktoken_file.extend_by_merges(tiktoken_file.byte_vocabulary(), merges)
        self.merges, self.first = merges, first
        self.added = added(first + len(self.tokens))
        self.pair_rank = {pair: rank for rank, pair in enumerate(merges)}
        self.index_of = {token: index for index, token in enumerate(self.tokens)}
        self.text_of = {id: text for text, (id, _) in self.added.items()}

    @property
    def size(self):
        """Ids that have a token: 0..size-1."""
        return 1 + max(id for id, _ in self.added.values())

    def piece(self, piece, whole_first=False):
        """Ids of one piece (bytes): the adjacent pair of lowest rank first. `whole_first`: the file's ignore_merges."""
        if whole_first and piece in self.index_of:
            return [self.first + self.index_of[piece]]
        parts = [self.index_of[bytes([byte])] for byte in piece]
        while True:
            ranks = [(self.pair_rank[pair], at) for at, pair in enumerate(zip(parts, parts[1:])) if pair in self.pair_rank]
            if not ranks:
                return [self.first + part for part in parts]
            rank, at = min(ranks)
            parts[at:at + 2] = [256 + rank]

    def decode(self, ids):
        parts = [self.text_of[id].encode() if id in self.text_of else self.tokens[id - self.first] for id in ids]
        return b"".join(parts).decode("utf-8", errors="replace")

    def file_names(self):
        """Each token in the file's alphabet, by index."""
        characters = byte_characters()
        return ["".join(characters[byte] for byte in token) for token in self.tokens]


def glm_vocabulary(merges):
    return Vocabulary(merges, 0, lambda base: {text: (base + n, special) for n, (text, special) in enumerate(GLM_ADDED)})


def olmoe_vocabulary(merges):
    def added(base):
        runs = [" " * length for length in range(OLMOE_LONGEST_RUN, 1, -1)]
        texts = [("<|endoftext|>", 0, True), ("<|padding|>", 1, True)]
        texts += [(text, base + n, False) for n, text in enumerate(runs)]
        texts += [(text, base + len(runs) + n, True) for n, text in enumerate(OLMOE_LAST)]
        return {text: (id, special) for text, id, special in texts}
    return Vocabulary(merges, OLMOE_FIRST, added)


def deepseek_vocabulary(merges):
    def added(base):
        texts = [(text, id, True) for id, text in enumerate(DEEPSEEK_FIRST)]
        texts += [(text, base + n, False) for n, text in enumerate(DEEPSEEK_ADDED)]
        return {text: (id, special) for text, id, special in texts}
    return Vocabulary(merges, len(DEEPSEEK_FIRST), added)


def added_entries(vocabulary, normalized):
    return [{"id": id, "content": text, "single_word": False, "lstrip": False, "rstrip": False,
             "normalized": normalized and not special, "special": special}
            for text, (id, special) in sorted(vocabulary.added.items(), key=lambda item: item[1][0])]


def byte_level(add_prefix_space, use_regex):
    return {"type": "ByteLevel", "add_prefix_space": add_prefix_space, "trim_offsets": True, "use_regex": use_regex}


def bpe_model(vocab, merges, ignore_merges):
    model = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
             "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False}
    if ignore_merges:
        model["ignore_merges"] = True
    return {**model, "vocab": vocab, "merges": merges}


def glm_file(vocabulary):
    """tokenizer.json of GLM-5.2's kind: no normalizer, its own regex, merges as pairs, ignore_merges."""
    names = vocabulary.file_names()
    split = {"type": "Split", "pattern": {"Regex": GLM_SPLIT}, "behavior": "Isolated", "invert": False}
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added_entries(vocabulary, False),
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, byte_level(False, False)]},
        "post_processor": {**byte_level(True, True), "trim_offsets": False}, "decoder": byte_level(True, True),
        "model": bpe_model({name: id for id, name in enumerate(names)},
                           [[names[left], names[right]] for left, right in vocabulary.merges], ignore_merges=True),
    }


def olmoe_file(vocabulary):
    """tokenizer.json of OLMoE's kind: NFC, the built-in GPT-2 regex, merges as "left right"."""
    names = vocabulary.file_names()
    vocab = {text: id for text, (id, special) in vocabulary.added.items() if id < vocabulary.first}
    vocab |= {name: vocabulary.first + index for index, name in enumerate(names)}
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added_entries(vocabulary, True),
        "normalizer": {"type": "NFC"}, "pre_tokenizer": byte_level(False, True),
        "post_processor": byte_level(False, True), "decoder": byte_level(False, True),
        "model": bpe_model(vocab, [f"{names[left]} {names[right]}" for left, right in vocabulary.merges], False),
    }


def deepseek_file(vocabulary):
    """tokenizer.json of DeepSeek-V4's kind: splits one after the other, then bytes; merges as "left right"."""
    names = vocabulary.file_names()
    splits = [{"type": "Split", "pattern": {"Regex": split}, "behavior": "Isolated", "invert": False}
              for split in DEEPSEEK_SPLITS]
    vocab = {text: id for text, (id, _) in vocabulary.added.items() if id < vocabulary.first}
    vocab |= {name: vocabulary.first + index for index, name in enumerate(names)}
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added_entries(vocabulary, True),
        "normalizer": {"type": "Sequence", "normalizers": []},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [*splits, byte_level(False, False)]},
        "post_processor": {**byte_level(True, True), "trim_offsets": False}, "decoder": byte_level(True, True),
        "model": bpe_model(vocab, [f"{names[left]} {names[right]}" for left, right in vocabulary.merges], False),
    }


def deepseek_settings(config):
    """tokenizer_config.json of DeepSeek-V4's kind."""
    return {"add_bos_token": False, "add_eos_token": False, "bos_token": DEEPSEEK_FIRST[0],
            "clean_up_tokenization_spaces": False, "eos_token": DEEPSEEK_FIRST[1], "legacy": True,
            "model_max_length": config["max_position_embeddings"], "pad_token": DEEPSEEK_FIRST[1],
            "tokenizer_class": "PreTrainedTokenizerFast", "unk_token": None}


def olmoe_settings(config):
    """tokenizer_config.json of OLMoE's kind."""
    end = OLMOE_LAST[-1]
    return {"add_bos_token": False, "add_eos_token": False, "add_prefix_space": False, "bos_token": end, "eos_token": end,
            "pad_token": "<|padding|>", "tokenizer_class": "GPTNeoXTokenizer", "unk_token": None,
            "clean_up_tokenization_spaces": False, "model_max_length": config["max_position_embeddings"]}


def glm_settings(config):
    """tokenizer_config.json of GLM-5.2's kind."""
    return {"clean_up_tokenization_spaces": False, "do_lower_case": False, "eos_token": "<|endoftext|>",
            "model_max_length": config["max_position_embeddings"], "pad_token": "<|endoftext|>", "padding_side": "left",
            "remove_space": False, "tokenizer_class": "PreTrainedTokenizer"}


def glm_generation(config):
    """generation_config.json of GLM-5.2's kind."""
    return {"eos_token_id": config["eos_token_id"], "pad_token_id": config["pad_token_id"], "temperature": 1.0,
            "top_p": 0.95, "transformers_version": "5.12.0"}


def deepseek_generation():
    """generation_config.json of DeepSeek-V4's kind."""
    return {"bos_token_id": 0, "do_sample": True, "eos_token_id": 1, "temperature": 1.0, "top_p": 1.0}


def read_merges(directory):
    """The merges of a written tokenizer.json as pairs of indices."""
    with open(os.path.join(directory, "tokenizer.json"), encoding="utf-8") as file:
        model = json.load(file)["model"]
    byte_of = {character: byte for byte, character in byte_characters().items()}
    index = {bytes([byte]): number for number, byte in enumerate(tiktoken_file.gpt2_byte_order())}
    merges = []
    for merge in model["merges"]:
        left, right = (bytes(byte_of[c] for c in part) for part in (merge.split(" ") if isinstance(merge, str) else merge))
        merges.append((index[left], index[right]))
        index[left + right] = len(index)
    return merges


def write_json(path, value):
    with open(path, "w", encoding="utf-8") as out:
        json.dump(value, out, indent=1, ensure_ascii=False)
        out.write("\n")


def write_tokenizer(directory, file, settings):
    """tokenizer.json, and tokenizer_config.json with `settings`."""
    write_json(os.path.join(directory, "tokenizer.json"), file)
    write_json(os.path.join(directory, "tokenizer_config.json"), settings)
