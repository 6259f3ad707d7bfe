"""A family's list of mistakes: a mistake is a subclass of the oracle with one step replaced, or a change of the stored
tensors (a function)."""

import dataclasses


@dataclasses.dataclass
class Mistake:
    section: str  # of the formula in the family's specification
    text: str
    mutant: object  # class or function
    shows_in: str  # "logits", "nothing", or another observation of the family
    models: tuple  # goldens that it applies to; empty: all


class Catalogue(list):
    def mistake(self, section, text, shows_in="logits", models=()):
        """Decorator: enters a class or function."""
        def add(mutant):
            self.append(Mistake(section, text, mutant, shows_in, tuple(models)))
            return mutant
        return add


def every(stored, ending, change):
    """The tensors, `change(words)` applied to each whose name has the ending."""
    return {name: (tag, change(words) if name.endswith(ending) else words) for name, (tag, words) in stored.items()}


def experts_in_the_order_of_names(stored):
    """The tensors, experts numbered as their names sort: 0, 1, 10, 11, 2, ..."""
    experts = {int(name.split(".experts.")[1].split(".")[0]) for name in stored if ".experts." in name}
    on_disk = sorted(experts, key=str)
    changed = dict(stored)
    for name in stored:
        if ".experts." in name:
            head, tail = name.split(".experts.")
            number, rest = tail.split(".", 1)
            changed[name] = stored[f"{head}.experts.{on_disk[int(number)]}.{rest}"]
    return changed
