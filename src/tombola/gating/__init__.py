"""Gate: is the new version not worse than the old one? On finished scores, or live.

The module is called `gating` because `tombola.gate` is the function.
"""

from tombola.gating._gate import gate
from tombola.gating.change import change_lines
from tombola.gating.live import gate_of_race
from tombola.gating.result import Comparison, GateResult

__all__ = ["Comparison", "GateResult", "change_lines", "gate", "gate_of_race"]
