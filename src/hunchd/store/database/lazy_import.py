"""Import of lancedb without its REST client and without Arrow's datasets.

hunchd never uses these modules, which account for most of the cost of the import.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import logging
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any, Final

logger = logging.getLogger(__name__)

# Generated code, several hundred modules: 1.3 s and 18 MB of the import of lancedb.
REST_CLIENT: Final = "lance_namespace_urllib3_client"
# Reads folders of files as tables, and takes 14 MB with its dependencies; we pass rows as tables in memory.
ARROW_DATASETS: Final = "pyarrow.dataset"


def import_without(
    name: str,
    *,
    excluded_modules: Sequence[str] = (REST_CLIENT, ARROW_DATASETS),
    keep: Sequence[str] = ("lancedb._lancedb",),
) -> ModuleType:
    """Import the module `name` with placeholders for the excluded modules.

    The placeholders contain empty classes; the real modules can still be imported afterwards. If a new release of the
    library needs an excluded module during its own import, the whole library is imported again; only the modules in
    `keep` are not reloaded.
    """
    if name in sys.modules or not sys.modules.keys().isdisjoint(excluded_modules):
        return importlib.import_module(name)
    finder = _PlaceholderFinder(excluded_modules)
    sys.meta_path.insert(0, finder)
    try:
        return importlib.import_module(name)
    except Exception:
        logger.exception(
            "could not import %s without %s; importing the whole package instead",
            name,
            ", ".join(excluded_modules),
        )
    finally:
        sys.meta_path.remove(finder)
        for module in excluded_modules:
            _unload_modules(module)
    for family in (name, *(module.partition("_urllib3")[0] for module in excluded_modules)):
        _unload_modules(family, keep)
    return importlib.import_module(name)


class _PlaceholderFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, modules: Sequence[str]) -> None:
        self._modules = modules

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if not any(_is_submodule(fullname, module) for module in self._modules):
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return _PlaceholderModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing, because attributes are created on access."""


class _PlaceholderModule(ModuleType):
    def __getattr__(self, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        # An exception type works wherever a class is needed, also in `except`.
        placeholder = type(name, (Exception,), {"__module__": self.__name__})
        setattr(self, name, placeholder)
        return placeholder


def _unload_modules(family: str, keep: Sequence[str] = ()) -> None:
    for module in [module for module in sys.modules if _is_submodule(module, family) and module not in keep]:
        del sys.modules[module]


def _is_submodule(module: str, family: str) -> bool:
    return module == family or module.startswith(f"{family}.")
