"""numpy's own tests of unique and searchsorted, with this package's functions in their place.

The tests are those of the numpy that is installed. All calls of numpy's functions in their sources
are replaced. Types that this package refuses still go to numpy, since many of the tests go through
all types.
"""

import ast
import importlib.util
import pathlib
import types

import numpy as np
import pytest

import bcfsort
from bcfsort._arrays import as_array, order_of

# Tests that do not apply, and why.
EXCLUDED = {
    # Results are arrays of numpy's base class, and masked arrays are refused.
    "test_unique_subclass": "results are no subclasses",
    "test_unique_masked": "masked arrays are refused",
    # No call has a type that this package sorts.
    "test_unique_byte_string_hash_based": "strings",
    "test_unique_unicode_string_hash_based": "strings",
    "test_unique_vstring_hash_based_equal_nan": "strings",
    "test_unique_vstring_hash_based_not_equal_nan": "strings",
    "test_unique_vstring_errors": "strings",
    "test_unique_complex_signed_zeros": "complex numbers",
    "test_searchsorted_unicode": "strings",
    # The error is a TypeError, too, with the text of Python's operator.index.
    "test_unique_axis_float_raises_typeerror": "the text of an error",
}

FUNCTIONS = [
    "searchsorted",
    "unique",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
]

#: The calls of this package that the present test has made.
calls = []


def is_taken(*arrays):
    try:
        order_of(np.result_type(*(as_array(each).dtype for each in arrays)))
    except TypeError:
        return False
    return True


def replaced(name):
    theirs, ours = getattr(np, name), getattr(bcfsort, name)

    def function(*args, **kwargs):
        given = [*args, *kwargs.values()][: 2 if name == "searchsorted" else 1]
        if not is_taken(*given):
            return theirs(*args, **kwargs)
        # All results are sorted here.
        kwargs.pop("sorted", None)
        calls.append(name)
        return ours(*args, **kwargs)

    return function


REPLACED = {f"bcfsort_{name}": replaced(name) for name in FUNCTIONS}


class Calls(ast.NodeTransformer):
    """Replaces ``np.f``, ``f`` and the method ``a.f`` by the functions of this package."""

    def visit_Call(self, node):
        self.generic_visit(node)
        method = node.func
        if isinstance(method, ast.Attribute) and method.attr in FUNCTIONS:
            node.func = ast.Name(f"bcfsort_{method.attr}", ast.Load())
            node.args.insert(0, method.value)
        return node

    def visit_Attribute(self, node):
        self.generic_visit(node)
        is_function = isinstance(node.value, ast.Name) and node.value.id == "np"
        if is_function and node.attr in FUNCTIONS:
            return ast.Name(f"bcfsort_{node.attr}", node.ctx)
        return node

    def visit_Name(self, node):
        is_function = isinstance(node.ctx, ast.Load) and node.id in FUNCTIONS
        return ast.Name(f"bcfsort_{node.id}", node.ctx) if is_function else node


def numpys(name, of_class, about):
    """A class of tests of a module of numpy: those that have a word in their names."""
    spec = importlib.util.find_spec(name)
    tree = ast.parse(pathlib.Path(spec.origin).read_text(encoding="utf-8"), spec.origin)

    def is_kept(node):
        test = getattr(node, "name", "")
        return not test.startswith("test_") or (about in test and test not in EXCLUDED)

    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    others = [node for node in tree.body if node not in classes and is_kept(node)]
    (chosen,) = (node for node in classes if node.name == of_class)
    chosen.body = [node for node in chosen.body if is_kept(node)]
    tree.body = [*others, chosen]
    tree = ast.fix_missing_locations(Calls().visit(tree))
    module = types.ModuleType(f"{name}_replaced")
    module.__package__ = name.rpartition(".")[0]
    vars(module).update(REPLACED)
    exec(compile(tree, spec.origin, "exec"), vars(module))
    return getattr(module, of_class)


TestUnique = numpys("numpy.lib.tests.test_arraysetops", "TestUnique", "unique")
TestSearchsorted = numpys("numpy._core.tests.test_multiarray", "TestMethods", "searchsorted")


@pytest.fixture(autouse=True)
def replacement():
    calls.clear()
    yield
    assert calls, "the test has not called this package: it belongs into the list"


def test_there_are_such_tests():
    for of_class, least in [(TestUnique, 15), (TestSearchsorted, 8)]:
        assert sum(name.startswith("test_") for name in vars(of_class)) >= least
    assert replaced("unique")([2, 1]).tolist() == [1, 2]
