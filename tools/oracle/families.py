"""The families whose goldens are made here, by the name of their folder in tests/golden."""

import golden_kimi_k3
import golden_olmoe

FAMILIES = {family.NAME: family for family in (golden_kimi_k3, golden_olmoe)}
