"""Shows that the goldens are strong: each mistake that others made, applied to the oracle, must move the numbers.

    python3 tools/oracle/mutations.py [FAMILY ...]        writes tests/golden/FAMILY/mutations.json

The change is ||mutated - golden|| / ||golden|| of the logits over all positions, ids fed as the golden has them: the
prompt in one chunk, the greedy ids in a second one (so that what is carried between chunks counts). Mistakes that
cannot show in logits are asserted where their row says, or change nothing.
"""

import json
import os
import sys

from families import FAMILIES
import goldens
import make_goldens
from plain_torch import Trace, torch

MUST_MOVE = 1e-3


def observe(family, model, facts):
    """`{what: values}`: logits of the golden's ids in its two chunks, router weights, and what the family adds."""
    state, trace = model.new_state(), Trace()
    logits = torch.cat([model.forward(facts[part], state, trace) for part in ("prompt_ids", "greedy_ids")])
    weights = torch.stack([trace.get("router_weights", layer) for layer in facts["moe_layers"]])
    return {"logits": logits, "router weights": weights, **family.observe(model, facts, state, trace)}


def build(family, mutant, config, stored):
    if isinstance(mutant, type):
        return mutant(config, family.widen(config, stored))
    return family.Model(config, family.widen(config, mutant(stored)))


def measure(family, name):
    """Facts of every mistake on one golden."""
    directory = os.path.join(make_goldens.GOLDEN, family.NAME, name)
    facts, arrays = goldens.read(directory)
    config, stored = family.read_config(directory), family.read_stored(directory)
    golden = observe(family, build(family, family.Model, config, stored), facts)
    assert change(golden["logits"], torch.tensor(arrays["logits"])) < 1e-9, "the golden is not this oracle's"
    rows = []
    for mistake in family.MISTAKES:
        if mistake.models and name not in mistake.models:
            continue
        seen = observe(family, build(family, mistake.mutant, config, stored), facts)
        row = {"section": mistake.section, "mistake": mistake.text, "shows_in": mistake.shows_in,
               "logits_change": change(seen["logits"], golden["logits"]),
               "argmax_changed": int((seen["logits"].argmax(1) != golden["logits"].argmax(1)).sum())}
        if mistake.shows_in not in ("logits", "nothing"):
            row[mistake.shows_in.replace(" ", "_") + "_change"] = change(seen[mistake.shows_in], golden[mistake.shows_in])
        check_strength(f"{family.NAME}/{name}", row)
        rows.append({key: rounded(value) for key, value in row.items()})
    return {"positions": facts["positions"], "mistakes": rows}


def change(ours, golden):
    if ours.shape != golden.shape:
        return float("inf")
    return float((ours - golden).norm() / golden.norm())


def rounded(value):
    """Three digits, and rounding noise as zero: the file is the same wherever it is made."""
    if not isinstance(value, float):
        return value
    return float(f"{value:.3g}") if value > 1e-12 else 0.0


def strength(row):
    """How far the mistake moves what it must move."""
    return row[row["shows_in"].replace(" ", "_") + "_change"]


def check_strength(where, row):
    if row["shows_in"] == "nothing":
        assert row["logits_change"] < 1e-9, f"{where}: {row}"
    else:
        assert strength(row) > MUST_MOVE, f"{where}: {row}"


def main(family):
    measured = {name: measure(family, name) for name in family.SEEDS}
    with open(os.path.join(make_goldens.GOLDEN, family.NAME, "mutations.json"), "w", encoding="utf-8") as out:
        blocks = []
        for name, facts in measured.items():
            rows = ",\n".join("   " + json.dumps(row) for row in facts["mistakes"])
            blocks.append(f' "{name}": {{"positions": {facts["positions"]}, "mistakes": [\n{rows}\n ]}}')
        out.write("{\n" + ",\n".join(blocks) + "\n}\n")
    for name, facts in measured.items():
        visible = [row for row in facts["mistakes"] if row["shows_in"] != "nothing"]
        weakest = min(visible, key=strength)
        print(f"{family.NAME}/{name}: {len(facts['mistakes'])} mistakes; weakest: {weakest['mistake']}, "
              f"{strength(weakest)}")


if __name__ == "__main__":
    for chosen in sys.argv[1:] or FAMILIES:
        main(FAMILIES[chosen])
