"""The examples of the documentation."""

import doctest
import importlib
import pathlib

import numpy as np
import pytest

import bcfsort

MODULES = ["", "._sort", "._runs", "._sorted", "._table", "._engines", ".pandas", ".dask"]
README = pathlib.Path(__file__).parent.parent / "README.md"


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_modules(name):
    module = importlib.import_module("bcfsort" + name)
    names = {**vars(module), "bcfsort": bcfsort, "np": np}
    failed, tried = doctest.testmod(module, extraglobs=names)
    assert failed == 0
    assert tried > 0


def test_examples_of_the_readme():
    failed, tried = doctest.testfile(str(README), module_relative=False)
    assert failed == 0
    assert tried > 5


def test_all_that_is_public_is_documented():
    for name in bcfsort.__all__:
        assert getattr(bcfsort, name).__doc__, name
