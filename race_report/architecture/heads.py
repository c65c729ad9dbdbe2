"""The head of a model: what its class, or its role in a run, says runs on logit rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from race_report.architecture.table import Head, Matrix, Underivable
from race_report.architecture.words import STATE, brief, listed

if TYPE_CHECKING:
    from race_report.architecture.words import Words

CAUSAL_LM: Final = "causal_lm"
SEQUENCES: Final = "sequence_classification"
TOKENS: Final = "token_classification"
PROCESS_REWARD: Final = "process_reward"
REWARD: Final = "reward"
NONE: Final = "none"

HEADS: Final = (CAUSAL_LM, SEQUENCES, TOKENS, PROCESS_REWARD, REWARD, NONE)
"""The kinds of head that are known."""

_CLASSES: Final = (
    ("ForCausalLM", CAUSAL_LM),
    ("ForConditionalGeneration", CAUSAL_LM),
    ("ForSequenceClassification", SEQUENCES),
    ("ForTokenClassification", TOKENS),
    ("Qwen2ForProcessRewardModel", PROCESS_REWARD),
    ("Qwen2ForRewardModel", REWARD),
)
"""Ends of the class names in `architectures`; a class that is a model `for` nothing has no head."""

_GENERATES: Final = frozenset({"policy", "rollout_policy", "reference", "judge", "teacher", "draft"})
"""Roles of models that give the probabilities of tokens."""

_SCORES: Final = frozenset({"value", "reward_model"})
"""Roles of models that have another head than the causal LM whose configuration they were made from."""

_TWO_LAYERS: Final = {PROCESS_REWARD: 2, REWARD: 1}
"""Outputs of the heads that are two matrices: good or bad of a step, and one score."""

_SAVED_LABELS: Final = 2
"""Labels of a classifier whose configuration names none: transformers leaves `id2label` out for this number only."""


def head_of(
    words: Words, width: int, vocabulary: int, *, is_tied: bool, kind: str | None, labels: int | None, role: str | None
) -> Head:
    """Build the head that is asked for, or else the one that the configuration's class or the role implies.

    Raises:
        Underivable: neither says what the head is, or how many labels it has.

    """
    named = _named_kind(words)
    if kind is None:
        kind = _implied_kind(words, named, role)
    elif kind not in HEADS:
        msg = f'no head is named "{brief(kind)}": {listed(HEADS)}'
        raise Underivable(msg)
    if kind == NONE:
        return Head(NONE)
    if kind == CAUSAL_LM:
        return Head(kind, (Matrix("lm_head", width, vocabulary),), is_tied=is_tied)
    if kind in _TWO_LAYERS:
        outputs = labels or _TWO_LAYERS[kind]
        both = Matrix("score.0", width, width, has_bias=True), Matrix("score.2", width, outputs, has_bias=True)
        return Head(kind, both)
    number = labels or _labels(words, is_saved_classifier=named == kind)
    has_bias = kind == TOKENS and words.flag("token_classification_bias", default=True)
    return Head(kind, (Matrix("score", width, number, has_bias),))


def _named_kind(words: Words) -> str | None:
    """Give the kind of head that the class in `architectures` has; None where no class is named."""
    names = words.texts("architectures")
    if not names:
        return None
    kinds = {_kind_of_class(name) for name in names}
    (kind,) = kinds if len(kinds) == 1 else (None,)
    return kind or f"that of {', '.join(names)}"


def _kind_of_class(name: str) -> str | None:
    if name.endswith("Model") and "For" not in name:
        return NONE
    return next((kind for end, kind in _CLASSES if name.endswith(end)), None)


def _implied_kind(words: Words, named: str | None, role: str | None) -> str:
    if named == CAUSAL_LM and role in _SCORES:
        why = f"names a causal LM, and a {role} has another head: state which, or {STATE}"
        raise words.refuse("architectures", why)
    if named is not None and named not in HEADS:
        raise words.refuse("architectures", f"names a class whose head is not known, {brief(named[8:])}: {STATE}")
    if named is None and role is not None and role not in _GENERATES:
        raise words.refuse("architectures", f"is missing, and the head of a {role} is not guessed: add it, or {STATE}")
    return named or CAUSAL_LM


def _labels(words: Words, *, is_saved_classifier: bool) -> int:
    number = words.size_or_none("num_labels")
    if number is not None:
        return number
    labels = words.inner("id2label")
    if labels is not None and labels.keys:
        return len(labels.keys)
    if not is_saved_classifier:
        raise words.refuse("num_labels", f"is missing, and no number of labels is guessed: add it, or {STATE}")
    return _SAVED_LABELS
