"""Gate: is the new version not worse than the old one? On finished tables and logs.

The module is called `gating` because `tombola.gate` is the function.
"""

from tombola.gating._gate import gate
from tombola.gating.result import Comparison, GateResult

__all__ = ["Comparison", "GateResult", "gate"]
