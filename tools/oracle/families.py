"""The families whose goldens are made here, by the name of their folder in tests/golden."""

import plain_torch  # noqa: F401  (first: it makes the formats importable)

import golden_deepseek_v4
import golden_glm_dsa
import golden_kimi_k3
import golden_olmoe

FAMILIES = {family.NAME: family for family in (golden_kimi_k3, golden_olmoe, golden_glm_dsa, golden_deepseek_v4)}
