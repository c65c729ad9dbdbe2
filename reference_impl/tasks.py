"""Problems with one right answer, and their split: addition of 0 to 99.

A completion ends in `#` and the answer. A worked solution of `57+68=` adds units, then tens: `7+8=15,5+6+1=12#125`.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

NUMBERS: Final = 100
"""Addends are below it."""
HELD_OUT: Final = 200
"""Problems of each held-out part."""
FORCED: Final = 2
"""Characters of a worked solution that no direct answer begins with, and that so choose the form."""

_ANSWER: Final = re.compile(r"#(\d{1,6})$")


class Problem(NamedTuple):
    """A sum of two numbers."""

    a: int
    b: int

    @property
    def prompt(self) -> str:
        """What the policy reads."""
        return f"{self.a}+{self.b}="

    @property
    def answer(self) -> int:
        """The only right answer."""
        return self.a + self.b

    @property
    def worked(self) -> str:
        """A worked solution, which can be learned."""
        units = self.a % 10 + self.b % 10
        tens = self.a // 10 + self.b // 10 + units // 10
        return f"{self.a % 10}+{self.b % 10}={units},{self.a // 10}+{self.b // 10}+{units // 10}={tens}#{self.answer}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """Problems by use; a sum and its mirror image are in the same part."""

    train: Sequence[Problem]
    """For warm start and GRPO."""
    validation: Sequence[Problem]
    """What the warm start is stopped by."""
    held_out: Sequence[Problem]
    """What results are reported on."""

    def __post_init__(self) -> None:
        """Assert that no problem, nor its mirror image, is in two parts."""
        parts = [{frozenset(problem) for problem in part} for part in (self.train, self.validation, self.held_out)]
        assert sum(map(len, parts)) == len(set.union(*parts)), "a problem is in two parts of the split"


def split_problems(seed: int) -> Split:
    """Divide all sums at random: 200 for validation, 200 held out, the others in both orders for training."""
    draw = random.Random(seed)  # noqa: S311 - problems are drawn, not secrets
    pairs = [Problem(a, b) for a in range(NUMBERS) for b in range(a, NUMBERS)]
    draw.shuffle(pairs)
    turned = [Problem(*draw.sample(pair, 2)) for pair in pairs[: 2 * HELD_OUT]]
    rest = {turn for a, b in pairs[2 * HELD_OUT :] for turn in (Problem(a, b), Problem(b, a))}
    return Split(train=sorted(rest), validation=turned[:HELD_OUT], held_out=turned[HELD_OUT:])


def direct_answer(draw: random.Random) -> str:
    """Give an answer drawn at random, without a solution."""
    return f"#{draw.randrange(2 * NUMBERS - 1)}"


def answer_of(completion: str) -> int | None:
    """Read the answer at the end of a completion; None where there is none."""
    found = _ANSWER.search(completion)
    return int(found[1]) if found else None
