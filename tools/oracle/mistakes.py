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
