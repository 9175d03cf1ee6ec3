"""Runs the tests that another project installs with its package, with functions of gdsvd in the place of its own."""

from __future__ import annotations

import importlib
import importlib.util
import types
from typing import Any
from unittest import mock

import pytest


class Suite:
    """Tests of an installed module, with other names in the place of some of its own.

    Parameters
    ----------
    module : str
        Where the tests are.
    home : str
        From where the module imports what is replaced.
    names : dict
        What takes the place of what: functions, or estimators.
    other : dict
        Tests that do not apply, as regular expressions that match their whole names, to the reason. They are run, and have to fail.
    same : tuple of str
        Parameters that choose among algorithms of the other project: a test that differs by them alone is run once.
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
        # The type of an error is asked for; its words are those of gdsvd.
        self.module.pytest = types.SimpleNamespace(**{**vars(pytest), "raises": lambda kind, match=None: pytest.raises(kind)})  # type: ignore[attr-defined]

    def _counted(self, f: Any) -> Any:
        def counted(*args: Any, **named: Any) -> Any:
            self.calls += 1
            return f(*args, **named)

        return type(f.__name__, (f,), {"fit_transform": lambda *args: (self._call(), f.fit_transform(*args))[1]}) if isinstance(f, type) else counted

    def _call(self) -> None:
        self.calls += 1

    def tests(self) -> dict[str, Any]:
        """The tests and fixtures of the module by name."""
        return {name: what for name, what in vars(self.module).items() if name.startswith("test") or type(what).__name__ == "FixtureFunctionDefinition"}
