"""adapter_config.json, or `adapter` of a report -> the matrices that carry low-rank adapters, and what is trained.

Names match as in peft 0.21: a listed word is a module's name or its end behind a dot, a text is `all-linear` or a
regular expression over the full name, which begins at the base model: `model.layers.3.self_attn.q_proj`. Each expert
is a module of its own, as in checkpoints and in transformers 4. transformers 5 holds the experts of a layer in two
tensors; what peft writes then are `target_parameters`, which are read too, with the ranks that stand beside them.

DoRA adds a vector of magnitudes to each adapted matrix, which is trained. Its products with A and B are those of LoRA.
It also needs the norm of the merged matrix, which peft makes in every forward pass by sending an identity through A and
B: 2 x inputs x rank x (inputs + outputs) FLOPs, however many tokens there are: executed FLOPs, in no coefficient.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from race_report.architecture.matching import ALL_LINEAR, Chooser, ends_with, rank_of
from race_report.architecture.table import Matrix, Transformer, Underivable
from race_report.architecture.words import STATE, Words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_LOW_RANK: Final = ("lora", "dora")
_REFUSED: Final = (
    "arrow_config",
    "kasa_config",
    "layer_replication",
    "monteclora_config",
    "trainable_token_indices",
    "use_bdlora",
    "use_qalora",
    "velora_config",
)
"""Keys that change which parameters there are, and are not read here."""

MOST_MODULES: Final = 1_000_000
"""Modules above which a model is a slip."""

_CLASSIFIERS: Final = ("SEQ_CLS", "TOKEN_CLS")
"""Tasks for which peft trains the head in full."""


class Adapted(NamedTuple):
    """A matrix that carries an adapter: two factors of its rank."""

    name: str
    """Full module name; `*` stands for the number of an expert."""
    matrix: Matrix
    rank: int

    @property
    def size(self) -> int:
        """Parameters of both factors, for every copy."""
        return self.matrix.copies * self.rank * (self.matrix.inputs + self.matrix.outputs)

    @property
    def active_size(self) -> int:
        """Parameters that one token goes through."""
        return self.matrix.active * self.rank * (self.matrix.inputs + self.matrix.outputs)


class Adapter(NamedTuple):
    """What an adapter configuration means in one model."""

    layers: tuple[Adapted, ...]
    """In the order of the model's matrices."""
    embedding: Adapted | None = None
    """On the input table: looking up a row of A costs nothing, B is a product for every token."""
    head: tuple[Adapted, ...] = ()
    """On the head: they run on logit rows."""
    saved: int = 0
    """Parameters of modules that are trained in full beside the adapters."""
    others: int = 0
    """Parameters of magnitudes and biases that are trained."""

    @property
    def ranks(self) -> dict[str, int]:
        """The ranks of the layers' adapted matrices, by full module name."""
        return {adapted.name: adapted.rank for adapted in self.layers}

    @property
    def size(self) -> int:
        """Parameters of the factors."""
        every = (*self.layers, *self.head, *((self.embedding,) if self.embedding else ()))
        return sum(adapted.size for adapted in every)

    @property
    def trainable(self) -> int:
        """All parameters that are trained."""
        return self.size + self.saved + self.others

    def coefficient(self) -> int:
        """Give `adapter_parameters`: what every token goes through.

        Raises:
            Underivable: the head carries an adapter, and rows are not tokens.

        """
        if self.head:
            msg = f"the adapter on `{self.head[0].name}` runs on logit rows, for which there is no coefficient: {STATE}"
            raise Underivable(msg)
        own = self.embedding.rank * self.embedding.matrix.outputs if self.embedding else 0
        return own + sum(adapted.active_size for adapted in self.layers)


def adapter_of(config: Mapping[str, Any], model: Transformer) -> Adapter:
    """Find the matrices of a model that an adapter configuration means.

    Raises:
        Underivable: the method is not low-rank, a key changes the count in a way that is not known here, or nothing
            matches.

    """
    words = Words(_as_saved(config))
    _refuse_unknown(words, model)
    rank = words.size("r")
    names = _names_to_save(words)
    chooser = Chooser(words, names, takes_head="method" not in config)
    layers = tuple(_in_layers(chooser, words, model, rank))
    if any("*" in adapted.name for adapted in layers) and words.get("target_parameters"):
        raise words.refuse("target_parameters", "name experts that `target_modules` names too")
    layers += tuple(_in_tensors(words, model, rank))
    embedding = _embedding(chooser, words, model, rank)
    head = tuple(_in_head(chooser, words, model, rank))
    if not (layers or embedding or head):
        raise words.refuse("target_modules", f"matches no matrix of {model.model_type}")
    every = (*layers, *head)
    magnitudes = _magnitudes(words, every, embedding)
    return Adapter(
        layers=layers,
        embedding=embedding,
        head=head,
        saved=_saved(words, names, model),
        others=magnitudes + _biases(words, every, model),
    )


def _as_saved(config: Mapping[str, Any]) -> dict[str, Any]:
    """Give the words of a report as those of adapter_config.json; those of adapter_config.json as they are."""
    if "method" not in config:
        return dict(config)
    own = Words(config)
    if own.text("method") not in _LOW_RANK:
        raise own.refuse("method", f'is "{config["method"]}", whose parameters are not derived here: {STATE}')
    listed = own.texts("target_modules") or []
    chosen: Any = ALL_LINEAR if [word.lower() for word in listed] == [ALL_LINEAR] else listed or None
    if own.get("target_modules_pattern") is not None:
        chosen = own.text("target_modules_pattern")
    return {
        "peft_type": config["method"],
        "use_dora": config["method"] == "dora",
        "r": own.size("rank"),
        "target_modules": chosen,
        "rank_pattern": config.get("rank_pattern"),
        "modules_to_save": own.texts("modules_to_save"),
    }


def _refuse_unknown(words: Words, model: Transformer) -> None:
    method = words.text("peft_type")
    if method.lower() not in _LOW_RANK:
        raise words.refuse("peft_type", f'is "{method}", whose parameters are not derived here: {STATE}')
    if model.body != "model":
        raise words.refuse("target_modules", f"may reach into the encoder beside the text model: {STATE}")
    for key in _REFUSED:
        if words.get(key):
            raise words.refuse(key, f"changes what is trained in a way that is not derived here: {STATE}")
    if words.get("ensure_weight_tying") and model.head.is_tied:
        raise words.refuse("ensure_weight_tying", f"is not derived here: {STATE}")


def _names_to_save(words: Words) -> list[str]:
    """Give `modules_to_save`, with the heads that peft adds for classifiers."""
    names = words.texts("modules_to_save") or []
    return [*names, "classifier", "score"] if words.get("task_type") in _CLASSIFIERS else names


def _in_layers(chooser: Chooser, words: Words, model: Transformer, rank: int) -> Iterator[Adapted]:
    if sum(matrix.copies for layer in model.layers for matrix in layer.matrices) > MOST_MODULES:
        raise words.refuse("target_modules", f"would be matched with more modules than any model has: {STATE}")
    is_alike = chooser.is_alike_in_layers and words.inner("rank_pattern") is None
    taken: dict[str, bool] = {}
    for index in range(len(model.layers)):
        for matrix in model.layers[index].matrices:
            name = f"{model.body}.layers.{index}.{matrix.name}"
            if is_alike:
                if matrix.name not in taken:
                    taken[matrix.name] = chooser.takes(name.replace("*", "0"), index)
                if taken[matrix.name]:
                    yield Adapted(name, matrix, rank)
                continue
            numbers = range(matrix.copies) if "*" in name else range(1)
            full = [name.replace("*", str(number)) for number in numbers]
            ranks = {rank_of(words, one, rank) if chooser.takes(one, index) else 0 for one in full}
            if len(ranks) > 1:
                raise words.refuse("target_modules", f"gives experts of {name} different adapters: {STATE}")
            (own,) = ranks
            if own:
                yield Adapted(name, matrix, own)


def _in_tensors(words: Words, model: Transformer, rank: int) -> Iterator[Adapted]:
    """Find adapters on the tensors in which transformers 5 holds all experts of a layer."""
    targets = words.texts("target_parameters") or []
    for index in range(len(model.layers) if targets else 0):
        for tensor, matrix in _tensors(model.layers[index].matrices):
            name = f"{model.body}.layers.{index}.{tensor}"
            if ends_with(name, targets):
                yield Adapted(name, matrix, rank_of(words, name, rank))


def _tensors(matrices: tuple[Matrix, ...]) -> Iterator[tuple[str, Matrix]]:
    """Give the tensors of a layer with experts: the router, gate and up as one, down."""
    experts = [matrix for matrix in matrices if "*" in matrix.name]
    if experts:
        gate, up, down = experts
        router = next(matrix for matrix in matrices if matrix.name.endswith(".gate"))
        yield "mlp.gate.weight", router
        yield "mlp.experts.gate_up_proj", gate._replace(outputs=gate.outputs + up.outputs)
        yield "mlp.experts.down_proj", down


def _embedding(chooser: Chooser, words: Words, model: Transformer, rank: int) -> Adapted | None:
    name = f"{model.body}.embed_tokens"
    if chooser.is_all_linear or not chooser.takes(name, None):
        return None
    return Adapted(name, Matrix(name, model.vocabulary, model.width), rank_of(words, name, rank))


def _in_head(chooser: Chooser, words: Words, model: Transformer, rank: int) -> Iterator[Adapted]:
    if chooser.is_all_linear and (model.head.kind == "causal_lm" or not chooser.takes_head):
        return
    for matrix in model.head.matrices:
        if chooser.takes(matrix.name, None):
            yield Adapted(matrix.name, matrix, rank_of(words, matrix.name, rank))


def _magnitudes(words: Words, adapted: tuple[Adapted, ...], embedding: Adapted | None) -> int:
    """Count the vectors that DoRA adds, and the biases of the second factors."""
    outputs = sum(one.matrix.copies * one.matrix.outputs for one in adapted)
    is_dora = words.flag("use_dora", default=words.text("peft_type").lower() == "dora")
    has_biases = words.flag("lora_bias", default=False)
    if (is_dora or has_biases) and (embedding or words.get("target_parameters")):
        key = "use_dora" if is_dora else "lora_bias"
        raise words.refuse(key, f"on an embedding or on tensors of experts is not derived here: {STATE}")
    return outputs * (is_dora + has_biases)


def _biases(words: Words, adapted: tuple[Adapted, ...], model: Transformer) -> int:
    """Count the model's own biases that are trained: none, all, or those of adapted matrices."""
    which = words.get("bias") or "none"
    if which == "none":
        return 0
    if which not in ("all", "lora_only") or words.get("modules_to_save"):
        raise words.refuse("bias", f"is {which!r}, which is not derived here beside `modules_to_save`: {STATE}")
    layers = [matrix for layer in model.layers for matrix in layer.matrices]
    matrices = [*layers, *model.head.matrices] if which == "all" else [one.matrix for one in adapted]
    return sum(matrix.copies * matrix.outputs for matrix in matrices if matrix.has_bias)


def _saved(words: Words, names: list[str], model: Transformer) -> int:
    """Count the parameters of the modules whose names end with a listed word, and of all within them."""
    total, found = 0, set()
    for module, size in model.modules():
        parents = module.split(".")
        prefixes = [".".join(parents[: end + 1]) for end in range(len(parents))]
        matched = {name for name in names if any(prefix.endswith(name) for prefix in prefixes)}
        found |= matched
        total += size if matched else 0
    lost = [name for name in words.texts("modules_to_save") or [] if name not in found | {"classifier", "score"}]
    if lost:
        raise words.refuse("modules_to_save", f"names {', '.join(lost)}, which {model.model_type} does not have")
    return total
