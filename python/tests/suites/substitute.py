"""Runs the tests that another project installs with its package, with functions of gdsvd instead of its own functions."""

from __future__ import annotations

import importlib
import importlib.util
import types
from typing import Any
from unittest import mock

import pytest


class Suite:
    """The tests of an installed module, with some of the functions or estimators that they test replaced.

    Parameters
    ----------
    module : str
        The module with the tests.
    home : str
        The module from which the tests import the replaced names.
    names : dict
        Maps names in `home` to the functions or estimators that replace them.
    other : dict
        Maps tests that do not apply, as regular expressions that match their whole names, to the reason. They are run, and must fail.
    same : tuple of str
        Parameters that choose among algorithms of the other project. Of tests that differ only in these parameters one is run.
    """

    def __init__(self, module: str, home: str, names: dict[str, Any], other: dict[str, str], same: tuple[str, ...] = ()) -> None:
        self.calls = 0
        self.other = other
        self.same = same
        try:
            spec = importlib.util.find_spec(module)
        except ModuleNotFoundError:
            spec = None
        if spec is None or spec.loader is None:
            pytest.skip(f"{module} is not installed", allow_module_level=True)
        self.module = importlib.util.module_from_spec(spec)
        with mock.patch.multiple(importlib.import_module(home), **{name: self._counted(f) for name, f in names.items()}):
            spec.loader.exec_module(self.module)
        # The tests check the type of an error, but not its message, which is that of gdsvd.
        self.module.pytest = types.SimpleNamespace(**{**vars(pytest), "raises": lambda kind, match=None: pytest.raises(kind)})  # type: ignore[attr-defined]

    def _counted(self, f: Any) -> Any:
        def counted(*args: Any, **named: Any) -> Any:
            self.calls += 1
            return f(*args, **named)

        return type(f.__name__, (f,), {"fit_transform": lambda *args: (self._call(), f.fit_transform(*args))[1]}) if isinstance(f, type) else counted

    def _call(self) -> None:
        self.calls += 1

    def tests(self) -> dict[str, Any]:
        """Returns the tests and fixtures of the module by name."""
        return {name: what for name, what in vars(self.module).items() if name.startswith("test") or type(what).__name__ == "FixtureFunctionDefinition"}
