"""The examples in the adapters' docstrings run; those of a framework that is not installed are skipped."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import unabridged.adapters


@pytest.mark.parametrize("name", sorted(m.name for m in pkgutil.iter_modules(unabridged.adapters.__path__)))
def test_examples_run(name):
    try:
        module = importlib.import_module(f"unabridged.adapters.{name}")
    except ImportError as missing:
        pytest.skip(str(missing))
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert doctest.testmod(module, optionflags=options).failed == 0


def test_the_examples_of_wrap_run():
    assert doctest.testmod(unabridged.adapters).failed == 0
