"""Reads a stored demo checkpoint back and lets the float64 oracle write with it: raw text, facts, and conversations.

    /usr/bin/python3 tools/train/try_demo.py demo/glm-5.2

Questions come from the corpus's own world, drawn with a seed that training does not use. Exit status 1 if fewer than 90 % of
the capitals come out right, a conversation does not end by itself, or, where the family has them, tool calls, memory or drafts
fall short (90 %, 80 %, 50 %). The weights are those of the files, as quantised and rounded.
"""

import argparse
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "oracle")]
import plain_torch  # noqa: E402, F401
import families  # noqa: E402

import chat_formats  # noqa: E402
import corpus  # noqa: E402
from demos import DEMOS  # noqa: E402

TEXTS = [("one two three four five", 16), ("1 2 3 4 5", 16), ("Once upon a time there was", 70), ("2 + 3 =", 12),
         ("The opposite of hot is", 8)]
QUESTIONS = ["What is the capital of France?", "What is the capital of Egypt?", "Hello!", "What is 3 + 4?", "Count to five.",
             "Tell me a story."]
HELD_OUT = 900_001  # seed of the conversations below


class Writer:
    """Greedy continuation of pieces with the stored model."""

    def __init__(self, demo, directory):
        self.family = families.FAMILIES[demo.FAMILY]
        self.format = chat_formats.WORLDS[demo.FAMILY][1]
        self.model = self.family.Model(*self.family.read(directory))
        self.encoder = demo.stored_encoder(directory)
        self.stops = {self.encoder.special[name] for name in self.format.STOPS}
        self.accepted = self.drafted = 0

    def write(self, pieces, limit, draft=False):
        """(continuation as text, the special token that stopped it or None). Counts whether the MTP head's drafts come true."""
        state, fresh, ids, guess, fed = self.model.new_state(), self.encoder.document(pieces), [], None, []
        while len(ids) < limit:
            fed += fresh
            best = int(self.model.forward(fresh, state)[-1].argmax())
            if guess is not None:
                self.drafted, self.accepted = self.drafted + 1, self.accepted + (guess == best)
            if draft:
                guess = self.draft(state, fed + [best])
            fresh = [best]
            if best in self.stops:
                return self.encoder.decode(ids), next(text for text, id in self.encoder.special.items() if id == best)
            ids.append(best)
        return self.encoder.decode(ids), None

    def draft(self, state, ids):
        """One draft for the position after `ids`: the MTP head over all positions that it has not seen."""
        block = self.model.config["num_hidden_layers"]
        if self.family.NAME == "deepseek_v4":
            known, inputs = state.length[block], state.streams
        else:
            known, inputs = len(state.c[block]), state.f
        logits = self.model.mtp(inputs[known:], ids[known + 1:len(inputs) + 1], state)[0]
        return int(logits[-1].argmax())


def percent(right, of):
    return f"{right} of {of}"


def try_capitals(writer):
    begin = writer.format.begin_text()
    right = [writer.write([*begin, ("text", f"The capital of {name} is")], 6)[0].startswith(" " + city)
             for name, city, *_ in corpus.COUNTRIES]
    print("capitals:", percent(sum(right), len(right)))
    return [] if sum(right) >= 0.9 * len(right) else ["capitals"]


def try_texts(writer):
    for prompt, limit in TEXTS:
        text, stop = writer.write([*writer.format.begin_text(), ("text", prompt)], limit)
        print(f"{prompt}|{text}{' ' + stop if stop else ''}")


def try_questions(writer, draft):
    failures = []
    for thinking in (False, True):
        for question in QUESTIONS:
            talk = corpus.Conversation(thinking, [corpus.Turn(question, "")], "max" if thinking else None, thinking)
            text, stop = writer.write(writer.format.prompt(talk), 160, draft)
            print(f"{'thinking' if thinking else '        '} {question}\n    {text} {stop}")
            if stop is None:
                failures.append(f"no end: {question}")
    return failures


def try_talks(writer, name, draw, right, share, count=25, draft=False):
    """Draws conversations, writes their last turn and counts those that are right."""
    world = chat_formats.world(writer.family.NAME, HELD_OUT)
    good, shown = 0, 0
    for _ in range(count):
        talk = draw(world)
        text, stop = writer.write(writer.format.prompt(talk), 120, draft)
        if stop is not None and right(talk, text):
            good += 1
        elif shown < 3:
            shown += 1
            print(f"    wrong: {talk.turns[-1].user} -> {text} {stop}")
    print(f"{name}: {percent(good, count)}")
    return [] if good >= share * count else [name]


def capital_talk(world):
    ask, short, _, answer = world.capital_question()
    return corpus.Conversation(world.chance(0.5), [corpus.Turn(ask, answer, short)])


def holds_call(chat_format):
    def right(talk, text):
        return "".join(piece for _, piece in chat_format.call_pieces(talk.turns[-1].call)) in text
    return right


def one_call(world):
    talk = world.forecast_chat()
    talk.turns = [world.forecast_turn()]
    return talk


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory")
    parser.add_argument("--demo", choices=DEMOS, help="which one; without it the directory's name says")
    options = parser.parse_args()
    demo = DEMOS[options.demo or os.path.basename(os.path.normpath(options.directory))]
    writer, drafts = Writer(demo, options.directory), demo.FAMILY in ("glm_dsa", "deepseek_v4")
    failures = try_capitals(writer)
    try_texts(writer)
    failures += try_questions(writer, drafts)
    failures += try_talks(writer, "answers about countries", capital_talk, lambda talk, text: talk.turns[-1].answer in text,
                          0.9, 40, drafts)
    failures += try_talks(writer, "memory", lambda world: world.memory_chat(),
                          lambda talk, text: text.endswith(talk.turns[-1].answer), 0.8, draft=drafts)
    if demo.FAMILY != "olmoe":
        failures += try_talks(writer, "tool calls", one_call, holds_call(writer.format), 0.9, draft=drafts)
    if drafts:
        print(f"drafts: {percent(writer.accepted, writer.drafted)} came true")
        failures += [] if writer.accepted >= 0.5 * writer.drafted else ["drafts"]
    print("failures: " + "; ".join(failures) if failures else "all checks passed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
