"""Change every term of every formula in turn, and see that a test fails each time.

    python tests/reference/mutate.py [MODULE ...]

A mutant is one change of one place: a number one more, a name one less where it is calculated with (T - 1 for T), a
term or factor dropped, another operator, a condition turned round or halved, a word of a table spoilt. Formulas of
`walk` and `executed` are judged by the cells, which torch has counted once; all others by the tests of the core. Each
mutant lives in a process of its own. Prints those that survive and exits with 1 where there are any.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import importlib.abc
import importlib.util
import io
import os
import signal
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
BY_CELLS = ("walk", "executed")
BY_TESTS = {
    "counts": ("test_counts.py",),
    "bounds_from_means": ("test_counts.py",),
    "conventions": ("test_conventions.py",),
    "flops": ("test_flops.py", "test_conformance.py"),
    "walk": ("test_executed.py",),
    "executed": ("test_executed.py",),
}
SECONDS = 60
"""A mutant that runs longer is caught: it does not come to an end."""

EQUIVALENT = {
    (
        "executed",
        "'eager' -> 'eager no more' in: parts = walk(model, batch, Training(ranks=ranks or {}), \"eager\")",
    ): "forward, both kernels run the same products",
}
"""Changes that change nothing, by module and description, each with its reason."""


class Mutant(NamedTuple):
    """One change, in words, and the module with it."""

    module: str
    change: str
    tree: ast.Module


# What is changed.

OTHER_OPERATOR: dict[type[ast.operator], ast.operator] = {
    ast.Add: ast.Sub(),
    ast.Sub: ast.Add(),
    ast.Mult: ast.Add(),
    ast.FloorDiv: ast.Mult(),
    ast.Mod: ast.FloorDiv(),
}
OTHER_COMPARISON: dict[type[ast.cmpop], ast.cmpop] = {
    ast.Gt: ast.GtE(),
    ast.GtE: ast.Gt(),
    ast.Lt: ast.LtE(),
    ast.LtE: ast.Lt(),
    ast.Eq: ast.NotEq(),
    ast.NotEq: ast.Eq(),
    ast.Is: ast.IsNot(),
    ast.IsNot: ast.Is(),
    ast.In: ast.NotIn(),
    ast.NotIn: ast.In(),
}


def of_operation(node: ast.BinOp) -> Iterator[ast.expr]:
    """Drop either side, take one from either that is a name, take another operator."""
    for side in (node.left, node.right):
        yield side
        if isinstance(side, ast.Name | ast.Attribute | ast.Call):
            less = ast.BinOp(side, ast.Sub(), ast.Constant(1))
            left, right = (less, node.right) if side is node.left else (node.left, less)
            yield ast.BinOp(left, node.op, right)
    if type(node.op) in OTHER_OPERATOR:
        yield ast.BinOp(node.left, OTHER_OPERATOR[type(node.op)], node.right)


def of_constant(node: ast.Constant) -> Iterator[ast.expr]:
    """Turn what is true, add one to a number, spoil a word."""
    match node.value:
        case bool(value):
            yield ast.Constant(not value)
        case int(value):
            yield ast.Constant(value + 1)
        case str(value):
            yield ast.Constant(f"{value} no more")


def of_condition(node: ast.BoolOp) -> Iterator[ast.expr]:
    """Drop all but one part; take `or` for `and`."""
    yield from node.values
    yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)


def of_comparison(node: ast.Compare) -> Iterator[ast.expr]:
    """Take another comparison."""
    for operator in node.ops:
        yield ast.Compare(node.left, [OTHER_COMPARISON[type(operator)]], node.comparators)


def of_choice(node: ast.IfExp) -> Iterator[ast.expr]:
    """Take one side, whatever the condition."""
    yield node.body
    yield node.orelse


def of_negation(node: ast.UnaryOp) -> Iterator[ast.expr]:
    """Drop a `not` or a minus."""
    yield node.operand


def of_call(node: ast.Call) -> Iterator[ast.expr]:
    """Take one of those of which the least or the largest is taken."""
    if isinstance(node.func, ast.Name) and node.func.id in ("min", "max"):
        yield from node.args


CHANGES: dict[type[ast.AST], Callable[[Any], Iterator[ast.expr]]] = {
    ast.BinOp: of_operation,
    ast.Constant: of_constant,
    ast.BoolOp: of_condition,
    ast.Compare: of_comparison,
    ast.IfExp: of_choice,
    ast.UnaryOp: of_negation,
    ast.Call: of_call,
}


def changes(node: ast.expr) -> list[ast.expr]:
    """Give what may stand in the place of an expression."""
    return list(CHANGES[type(node)](node)) if type(node) in CHANGES else []


def places(tree: ast.Module) -> Iterator[tuple[ast.AST, str, int | None, ast.expr]]:
    """Give every expression that is calculated, with where it stands; no texts that are read by people, no types."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        parent = waiting.pop()
        for field, value in ast.iter_fields(parent):
            if field in ("annotation", "returns", "decorator_list"):
                continue
            for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
                if not isinstance(child, ast.AST) or is_passed_over(child):
                    continue
                waiting.append(child)
                if isinstance(child, ast.expr):
                    yield parent, field, index, child


def is_passed_over(node: ast.AST) -> bool:
    match node:
        case ast.Expr(ast.Constant(str())) | ast.Import() | ast.ImportFrom() | ast.Raise() | ast.JoinedStr():
            return True
        case ast.If(ast.Name("TYPE_CHECKING")):
            return True
        case ast.Assign([ast.Name(name)]):  # a type, or what is exported
            return name == "__all__" or isinstance(node.value, ast.Subscript)
    return False


def source(module: str) -> str:
    return (ROOT / "race_report" / f"{module}.py").read_text("utf-8")


def mutants(module: str) -> Iterator[Mutant]:
    """Give every mutant of a module, each of a tree of its own."""
    text = source(module)
    tree = ast.parse(text)
    for number, (_, _, _, node) in enumerate(places(tree)):
        for choice, new in enumerate(changes(node)):
            changed = ast.parse(text)
            parent, field, index, place = list(places(changed))[number]
            replacement = copy.deepcopy(changes(place)[choice])
            if index is None:
                setattr(parent, field, replacement)
            else:
                getattr(parent, field)[index] = replacement
            line = text.splitlines()[node.lineno - 1].strip()
            yield Mutant(
                module,
                f"{ast.unparse(node)} -> {ast.unparse(new)} in: {line}",
                ast.fix_missing_locations(changed),
            )


# How it is judged.


class Loader(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports a mutant in the place of its module."""

    def __init__(self, mutant: Mutant) -> None:
        self.name = f"race_report.{mutant.module}"
        self.code = compile(mutant.tree, f"{mutant.module}.py", "exec")

    def find_spec(self, name: str, path: Sequence[str] | None, target: Any = None) -> Any:  # noqa: ARG002
        return importlib.util.spec_from_loader(name, self) if name == self.name else None

    def exec_module(self, module: Any) -> None:
        exec(self.code, module.__dict__)  # noqa: S102


def put_in_place(mutant: Mutant) -> None:
    sys.meta_path.insert(0, Loader(mutant))
    for name in [name for name in sys.modules if name.partition(".")[0] == "race_report"]:
        del sys.modules[name]


class Judge:
    """Runs what a mutant should fail."""

    def __init__(self) -> None:
        self.proof: Any = importlib.import_module("test_flop_counter")
        self.counted = [self._count(cell) for cell in self.proof.CELLS]

    def _count(self, cell: Any) -> tuple[Any, Any, Any, int]:
        seed = self.proof.SEEDS[0]
        built, sizes = self.proof.build_cell(cell, seed), self.proof.draw_sizes(cell, seed)
        batch = self.proof.draw_tokens(built.network, sizes.sequences, sizes.tokens, sizes.padding, seed)
        counted = self.proof.counted_flops(lambda: self.proof.run(cell, built, batch, sizes))
        adapted = self.proof.Built(network=None, table=built.table, ranks=built.ranks)
        return cell, adapted, sizes, counted

    def fails_a_cell(self) -> bool:
        executed = importlib.import_module("race_report.executed")
        for name in ("Batch", "Training", "executed_forward", "executed_generation", "executed_update"):
            setattr(self.proof, name, getattr(executed, name))
        return any(self.proof.executed(cell, built, sizes) != counted for cell, built, sizes, counted in self.counted)

    def is_caught(self, mutant: Mutant) -> bool:
        put_in_place(mutant)
        if mutant.module in BY_CELLS and self.fails_a_cell():
            return True
        files = [str(TESTS / name) for name in BY_TESTS[mutant.module]]
        return fails_a_test(files)


def fails_a_test(files: list[str]) -> bool:
    import pytest

    for name in [name for name in sys.modules if name.partition(".")[0] in ("tests", "conftest")]:
        del sys.modules[name]
    options = ["-x", "-q", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
    return pytest.main([*files, *options, "-k", "not without_python"]) != 0


def is_caught(judge: Judge, mutant: Mutant) -> bool:
    """Judge in a process of its own: what a mutant breaks stays there, and what does not end is caught."""
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)
        verdict = True
        with contextlib.suppress(BaseException), contextlib.redirect_stdout(io.StringIO()):
            verdict = judge.is_caught(mutant)
        os._exit(1 if verdict else 0)
    return os.waitpid(child, 0)[1] != 0


def main(modules: Sequence[str]) -> int:
    sys.path.insert(0, str(Path(__file__).parent))
    warnings.simplefilter("ignore")
    judge = Judge()
    survivors = 0
    for module in modules:
        unchanged = Mutant(module, "nothing", ast.parse(source(module)))
        if is_caught(judge, unchanged):
            print(f"{module}: fails as it is")
            return 1
        changed = list(mutants(module))
        left = [each for each in changed if not is_caught(judge, each) and (module, each.change) not in EQUIVALENT]
        survivors += len(left)
        print(f"{module}: {len(changed)} mutants, {len(left)} survive", flush=True)
        for mutant in left:
            print(f"  {mutant.change}")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or list(BY_TESTS)))
