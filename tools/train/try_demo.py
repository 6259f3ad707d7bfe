"""Reads a stored demo checkpoint back and lets the float64 oracle write with it: raw text, facts, and chat turns.

    /usr/bin/python3 tools/train/try_demo.py demo/kimi-k3

Exit status 1 if fewer than 4 of 5 capitals come out right, if a chat turn does not end by itself, or if a capital is missing
in its answer. The weights are those of the files: experts as quantised, trunk as rounded to BF16.
"""

import argparse
import os
import sys

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "formats"), os.path.join(HERE, "..", "oracle")]
import kimi_k3  # noqa: E402
import kimi_k3_checkpoint  # noqa: E402
import tiktoken_file  # noqa: E402

import corpus  # noqa: E402
import tokenizer  # noqa: E402

CAPITALS = {"France": "Paris", "Italy": "Rome", "Japan": "Tokyo", "Spain": "Madrid", "Egypt": "Cairo"}
TEXTS = [("one two three four five", 16), ("1 2 3 4 5", 16), ("Once upon a time there was", 70), ("2 + 3 =", 12), ("The opposite of hot is", 8)]
CHATS = [  # thinking effort (None: not thinking; "": thinking, no effort message), user text, what the answer must hold
    (None, "What is the capital of France?", "Paris"), ("", "What is the capital of Japan?", "Tokyo"),
    ("max", "What is the capital of Egypt?", "Cairo"), ("low", "What is the capital of Italy?", "Rome"),
    (None, "Hello!", "Hello"), ("", "What is 3 + 4?", ""), (None, "Count to five.", "five"), ("max", "Tell me a story.", ""),
]


class Writer:
    """Greedy continuation of pieces with the stored model."""

    def __init__(self, directory):
        config, tensors = kimi_k3_checkpoint.read_float_tensors(directory)
        self.encoder = tokenizer.Encoder(tiktoken_file.read_tiktoken_model(os.path.join(directory, "tiktoken.model")))
        self.model = kimi_k3.KimiK3(config, tensors)
        self.stops = {self.encoder.special[name] for name in ("[EOS]", "<|end_of_msg|>")}

    def write(self, pieces, limit):
        """(continuation as text, whether it stopped by itself, smallest gap between the two best logits)."""
        state, fresh, ids, margin = kimi_k3.State(self.model), self.encoder.document(pieces), [], float("inf")
        while len(ids) < limit:
            best = torch.topk(self.model.forward(fresh, state)[-1], 2)
            margin = min(margin, float(best.values[0] - best.values[1]))
            fresh = [int(best.indices[0])]
            if fresh[0] in self.stops:
                return self.encoder.decode(ids), True, margin
            ids += fresh
        return self.encoder.decode(ids), False, margin


def chat_pieces(effort, user):
    pieces = []
    if effort:
        pieces += corpus.message([("role", "system"), ("type", "thinking-effort")], corpus.EFFORT_TEXT % effort)
    return pieces + corpus.message([("role", "user")], user) + corpus.generation_prefix(thinking=effort is not None)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory")
    writer = Writer(parser.parse_args().directory)
    failures, right = [], 0
    for country, city in CAPITALS.items():
        prompt = f"The capital of {country} is"
        text, _, margin = writer.write([("text", prompt)], 24)
        right += text.startswith(" " + city)
        print(f"{prompt}|{text}    (margin {margin:.2f})")
    everywhere = sum(writer.write([("text", f"The capital of {c[0]} is")], 6)[0].startswith(" " + c[1]) for c in corpus.COUNTRIES)
    print(f"capitals: {everywhere} of {len(corpus.COUNTRIES)} right")
    if right < 4:
        failures.append(f"only {right} of 5 capitals")
    for prompt, limit in TEXTS:
        text, stopped, margin = writer.write([("text", prompt)], limit)
        print(f"{prompt}|{text}{' [end]' if stopped else ''}    (margin {margin:.2f})")
    for effort, user, wanted in CHATS:
        text, stopped, margin = writer.write(chat_pieces(effort, user), 160)
        print(f"[{'off' if effort is None else effort or 'on'}] {user}\n    {text}{' [end]' if stopped else ' [cut]'}    (margin {margin:.2f})")
        if not stopped or wanted not in text:
            failures.append(f"chat: {user}")
    print("failures: " + "; ".join(failures) if failures else "all checks passed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
