"""Makes the golden checkpoints and numbers of all families: tests/golden/FAMILY/MODEL/.

    python3 tools/oracle/make_goldens.py [FAMILY[/MODEL] ...]             writes them, from fixed seeds
    python3 tools/oracle/make_goldens.py --search [FAMILY[/MODEL] ...]    finds the first seeds that are good enough

A seed is good when no decision hangs on a hair: an engine with float32 activations must reach the same picks and the
same greedy ids. All numbers are computed in float64 from the weights as stored.
"""

import os
import sys
import tempfile

from families import FAMILIES
import golden_run
import goldens

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "golden")


def make(family, name):
    directory = os.path.join(GOLDEN, family.NAME, name)
    family.write(name, family.SEEDS[name], directory)
    run = golden_run.Run(family, name, directory)
    assert not run.faults(), f"{family.NAME}/{name}: {run.faults()}"
    family.check(directory)
    arrays = goldens.ArrayFile()
    family.add_arrays(run, arrays)
    goldens.write(directory, family.facts(run), arrays)
    print(f"{family.NAME}/{name}: {len(run.prompt)} + {golden_run.GREEDY} positions, margins: router "
          f"{run.router_margin():.1e}, argmax {run.argmax_margin():.1e}; float32 form differs by "
          f"{run.float32_error:.1e}")


def search(family, name):
    with tempfile.TemporaryDirectory() as directory:
        for seed in range(200):
            place = os.path.join(directory, str(seed))
            family.write(name, seed, place)
            faults = golden_run.Run(family, name, place).faults()
            print(family.NAME, name, seed, faults, flush=True)
            if not faults:
                return


def chosen(arguments):
    """(family, model) of every argument; without one, all."""
    for argument in arguments or FAMILIES:
        family, _, model = argument.partition("/")
        for name in [model] if model else FAMILIES[family].SEEDS:
            yield FAMILIES[family], name


if __name__ == "__main__":
    for which in chosen([argument for argument in sys.argv[1:] if argument != "--search"]):
        search(*which) if "--search" in sys.argv else make(*which)
