"""Context: policies that choose the action by row features, with a guard.

Theory: docs/theory/context.md.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tombola.policies.certificate import RouterCertificate as RouterCertificate
    from tombola.policies.certificate import certify_rows as certify_rows
    from tombola.policies.certificate import certify_session as certify_session
    from tombola.policies.certificate import certify_trace as certify_trace
    from tombola.policies.guard import Guard as Guard
    from tombola.policies.models import Ridge as Ridge
    from tombola.policies.models import SklearnModel as SklearnModel
    from tombola.policies.models import Trees as Trees
    from tombola.policies.record import RouterRecord as RouterRecord
    from tombola.policies.routed import Routed as Routed
    from tombola.policies.routed_lp import RoutedLP as RoutedLP

_NAMES = {
    "certificate": ("RouterCertificate", "certify_rows", "certify_session", "certify_trace"),
    "guard": ("Guard",),
    "models": ("Ridge", "SklearnModel", "Trees"),
    "record": ("RouterRecord",),
    "routed": ("Routed",),
    "routed_lp": ("RoutedLP",),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}

__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'tombola.policies' has no attribute {name!r}")
    return getattr(import_module(f"tombola.policies.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
