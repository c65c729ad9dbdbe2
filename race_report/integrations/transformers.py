"""Counts what a Hugging Face model runs, in any loop, into the phase of a meter that is open.

    with Meter("trace.jsonl", models=[...]) as meter, metered(model, meter, "policy"):
        with meter.phase("search"):
            completions = model.generate(**prompts)
        with meter.phase("learning", "update"):
            loss_of(model(**batch)).backward()

Figures come from masks, cache lengths and ids that went through the model. Nothing waits for the device before the end
of the phase. A phase without a name gets one record for reading prompts and one for sampling.
"""

from __future__ import annotations

import contextlib
import functools
import warnings
from typing import TYPE_CHECKING, Any, Final

import torch
from transformers import PreTrainedModel

from race_report.architecture import Underivable, transformer_of
from race_report.executed import Training
from race_report.integrations.passes import READING, SAMPLING, UPDATE, Generation, Pass, Passes, Rectangle
from race_report.meter import GENERATION

if TYPE_CHECKING:
    from collections.abc import Iterator

    from race_report.executed import Checkpointing, Kernel
    from race_report.meter import Meter, Phase

_LAYERS: Final = "layers"
_HEADS: Final = ("lm_head", "score", "classifier")
_CACHES: Final = ("cache", "past_key_values")


@contextlib.contextmanager
def metered(model: torch.nn.Module, meter: Meter, name: str) -> Iterator[ModelMeter]:
    """Count every forward and backward pass of a model as one of the meter's models, until the block ends.

    Args:
        model: a decoder of transformers with any head, or one that peft has wrapped.
        meter: where phases are open while the model runs.
        name: the id of the model in the report.

    Raises:
        ValueError: the model is no decoder of transformers.

    """
    counted = ModelMeter(model, meter, name)
    try:
        yield counted
    finally:
        counted.remove()


class ModelMeter:
    """The hooks on one model."""

    def __init__(self, model: torch.nn.Module, meter: Meter, name: str) -> None:
        """Put the hooks on; see `metered`."""
        self.meter = meter
        self.name = name
        self.alias: str | None = None
        """Another id, for as long as the same weights serve as another model: a policy's base as its reference."""
        self.needed_rows: int | None = None
        """Of how many last positions the logits are needed, where more may go through the head."""
        self.inner, self.body, self.head = parts_of(model)
        self.table, self.window = _table_of(self.inner, self.body)
        self.adapted = [
            (_plain(full), module) for full, module in self.inner.named_modules() if hasattr(module, "lora_A")
        ]
        self._open: dict[int, tuple[Phase, dict[str, Passes]]] = {}
        self._current: Pass | None = None
        self._rectangle: Rectangle | None = None
        self._passes: Passes | None = None
        self._in_generate = False
        self._generating: tuple[tuple[str, int], ...] = ()
        self._cached_length = 0
        self._generated = 0
        self._fused = False
        self._alive: torch.Tensor | None = None
        self._ends_there: torch.Tensor | None = None
        self._input_needs_gradient = False
        self._trains: tuple[bool, bool] | None = None
        self._warned = False
        first = getattr(self.body, _LAYERS)[0]
        self._handles: list[Any] = [
            self.body.register_forward_pre_hook(self._before, with_kwargs=True),
            self.body.register_forward_hook(self._after),
            first.register_forward_pre_hook(self._at_first_layer, with_kwargs=True),
        ]
        if self.head is not None:
            self._handles.append(self.head.register_forward_pre_hook(self._at_head))
        self.own_generate = getattr(self.inner, "generate", None)
        if self.own_generate is not None:
            self.inner.generate = self._metered_generate

    def remove(self) -> None:
        """Take the hooks off again."""
        for handle in self._handles:
            handle.remove()
        self._handles = []
        if self.own_generate is not None:
            vars(self.inner).pop("generate", None)
            self.own_generate = None

    # Where figures go.

    def _passes_here(self) -> Passes | None:
        """Give the passes of this model in the phase that is open; None, with one warning, where none is."""
        phase = self.meter.current
        if phase is None:
            if not self._warned:
                words = f'"{self.name}" ran outside of every phase of the meter, and was not counted'
                warnings.warn(words, RuntimeWarning, stacklevel=2)
                self._warned = True
            return None
        if id(phase) not in self._open:
            self._open[id(phase)] = phase, {}
            phase.at_end.append(functools.partial(self._give, phase))
        found = self._open[id(phase)][1]
        return found.setdefault(self.alias or self.name, Passes(self.table, self.window))

    def _give(self, phase: Phase) -> Iterator[dict[str, Any]]:
        """Give the records of a phase at its end."""
        reading, sampling = GENERATION.get(phase.component, (None, None))
        for name, passes in self._open.pop(id(phase))[1].items():
            for one in passes.passes:
                one.updates = one.updates or (one.training is not None and self.inner.training)
            together: dict[tuple[str | None, str], dict[str, Any]] = {}
            for kind, figures in passes.settle().items():
                named = phase.phase or {READING: reading, SAMPLING: sampling}.get(kind)
                operation = "update" if kind == UPDATE else "forward"
                record = together.setdefault((named, operation), {})
                for key, number in figures.as_record(is_bounded=self.window is not None).items():
                    record[key] = record.get(key, 0) + number
                if figures.executed is None:
                    record.pop("executed_flops", None)
            for (named, operation), record in together.items():
                if record["tokens"] or record.get("executed_flops"):
                    yield {"phase": named, "model": name, "operation": operation, **record}

    # What the hooks see.

    def _before(self, _: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Take the shape and the lengths of a pass."""
        self._current = self._rectangle = None
        self._passes = passes = self._passes_here()
        if passes is None:
            return
        ids = args[0] if args else kwargs.get("input_ids")
        tokens = ids if ids is not None else kwargs["inputs_embeds"]
        number, length = tokens.shape[:2]
        cached = _cached(kwargs)
        ranks = self._generating if self._in_generate else tuple(self.ranks().items())
        kind = SAMPLING if (cached and length == 1) or (self._in_generate and self._generated) else READING
        if self._in_generate:
            if cached and length > 1:
                kind = READING
            self._generated += 1
            self._cached_length = max(self._cached_length, cached)
            self._rectangle = Rectangle(kind, number, length, cached, 0, ranks)
            return
        mask = kwargs.get("attention_mask", args[1] if len(args) > 1 else None)
        rectangle = Rectangle(kind, number, length, cached, 0, ranks)
        lengths = self._lengths(mask, ids, rectangle, tokens.device)
        self._input_needs_gradient = False
        self._current = Pass(rectangle=rectangle, lengths=lengths, adapter=bool(ranks))

    def _lengths(self, mask: Any, ids: Any, rectangle: Rectangle, device: torch.device) -> torch.Tensor:
        """Give real tokens, those in the cache before them, and rows that were needed, as a tensor [3, sequences]."""
        number, length, cached = rectangle.sequences, rectangle.tokens, rectangle.cached
        found = torch.zeros(3, number, dtype=torch.int64, device=device)
        if mask is None:
            found[0], found[1] = length, cached
        elif not isinstance(mask, torch.Tensor) or mask.dim() != 2:  # noqa: PLR2004 - sequences and positions
            message = (
                f'"{self.name}" got a mask that is not [sequences, positions], from which lengths do not follow: '
                "count the pass with meter.record"
            )
            raise ValueError(message)
        else:
            found[0] = mask[:, -length:].sum(1)
            found[1] = mask[:, : mask.shape[1] - length].sum(1)
        if self.needed_rows is not None:
            found[2] = found[0] if mask is None else mask[:, -min(self.needed_rows, length) :].sum(1)
        if not cached:
            self._alive = None
        elif length == 1 and ids is not None:  # a row whose end was sampled goes on beside the others
            ended = torch.isin(ids[:, 0], self._end_tensor(device))
            has_alive = self._alive is not None and self._alive.shape == ended.shape
            self._alive = self._alive & ~ended if has_alive else ~ended
            found[:2] *= self._alive
        return found

    def _at_first_layer(self, _: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if self._current is not None:
            stream = args[0] if args else kwargs["hidden_states"]
            self._input_needs_gradient = stream.requires_grad

    def _after(self, _: torch.nn.Module, __: Any, output: Any) -> None:
        """Close the body's part of a pass; the head may follow."""
        rectangle, one, passes = self._rectangle, self._current, self._passes
        if passes is None:
            return
        hidden = output[0] if isinstance(output, tuple) else output.last_hidden_state
        if rectangle is not None:
            passes.add_rectangle(rectangle)
            return
        if one is None:
            return
        passes.passes.append(one)
        if torch.is_grad_enabled() and (hidden.requires_grad or self._head_is_trained()):
            self._prepare_update(one, hidden)
        if self._fused:
            self._score_fused(one, hidden)

    def _prepare_update(self, one: Pass, hidden: torch.Tensor) -> None:
        weights, head = self._trained()
        ranks = dict(one.rectangle.ranks)
        frozen_input = self._input_needs_gradient and not weights
        one.training = Training(weights=weights, head=head, ranks=ranks, embedding_needs_gradient=frozen_input)
        one.kernel = self._kernel(hidden)
        one.checkpointing = self._checkpointing()
        if hidden.requires_grad:
            hidden.register_hook(functools.partial(_mark, one))

    def _score_fused(self, one: Pass, hidden: torch.Tensor) -> None:
        """Count a head that scores completions in tiles, and computes its logits again backward."""
        number, length = one.rectangle.sequences, one.rectangle.tokens
        one.recomputes_logits = one.training is not None
        if _scores_only_what_is_needed(hidden.device):
            one.rectangle = one.rectangle._replace(sparse_rows=one.lengths[2].sum().reshape(1))
        else:
            one.rectangle = one.rectangle._replace(rows=number * (length - 1))

    def _at_head(self, _: torch.nn.Module, args: tuple[Any, ...]) -> None:
        """Count the rows that reach the head."""
        hidden = args[0]
        rows = hidden.shape[:-1].numel()
        if self._rectangle is not None and self._passes is not None:
            last = self._passes.rectangles[-1]
            self._passes.rectangles[-1] = last._replace(rows=last.rows + rows)
        elif self._current is not None:
            one, self._current = self._current, None
            one.rectangle = one.rectangle._replace(rows=one.rectangle.rows + rows)
            if self.needed_rows is None:
                length = one.rectangle.tokens
                width = rows // one.rectangle.sequences
                one.lengths[2] = one.lengths[0] if width >= length else one.lengths[0].clamp(max=width)
        self._rectangle = None

    def _metered_generate(self, *args: Any, **kwargs: Any) -> Any:
        """Run `generate`, and take the lengths of prompts and completions from what it returns."""
        assert self.own_generate is not None
        passes = self._passes_here()
        if passes is None or _is_unusual(kwargs, self.inner):
            return self.own_generate(*args, **kwargs)
        ranks = self._generating = tuple(self.ranks().items())
        self._in_generate, self._generated, self._cached_length = True, 0, 0
        try:
            output = self.own_generate(*args, **kwargs)
        finally:
            self._in_generate = False
            self._rectangle = None
        sequences = output if isinstance(output, torch.Tensor) else output.sequences
        ids = kwargs.get("input_ids", kwargs.get("inputs", args[0] if args else None))
        lengths = _generated_lengths(sequences, ids, kwargs.get("attention_mask"), self._ends(kwargs))
        passes.generations.append(
            Generation(lengths=lengths, kv_cache=self._cached_length > 0 or self._generated < 2, adapter=bool(ranks))  # noqa: PLR2004 - a second pass would show it
        )
        return output

    @contextlib.contextmanager
    def scoring(self, needed: int, *, fused: bool) -> Iterator[None]:
        """Score the last `needed` positions of what runs within; `fused`: by a head that is called as no module."""
        before = self.needed_rows, self._fused
        self.needed_rows, self._fused = needed, fused
        try:
            yield
        finally:
            self.needed_rows, self._fused = before

    # The state of the model.

    def ranks(self) -> dict[str, int]:
        """Give the ranks of adapters that run beside their matrices; none where they are disabled or merged."""
        found: dict[str, int] = {}
        for name, module in self.adapted:
            if module.disable_adapters or module.merged:
                continue
            rank = sum(module.lora_A[one].out_features for one in module.active_adapters if one in module.lora_A)
            if rank:
                found[name] = rank
        return found

    def _trained(self) -> tuple[bool, bool]:
        """Tell whether the weights are trained, and whether the head is without them.

        Raises:
            ValueError: some weights of the body are trained and some are not.

        """
        if self._trains is None:
            kinds = {
                parameter.requires_grad
                for name, parameter in self.body.named_parameters()
                if "lora_" not in name and "modules_to_save" not in name
            }
            if len(kinds) > 1:
                message = f'some weights of "{self.name}" are trained and some are not, for which there is no formula'
                raise ValueError(message)
            self._trains = kinds == {True}, self._head_is_trained() and kinds == {False}
        return self._trains

    def _head_is_trained(self) -> bool:
        return self.head is not None and any(one.requires_grad for one in self.head.parameters())

    def _kernel(self, hidden: torch.Tensor) -> Kernel:
        if self.inner.config._attn_implementation == "eager":  # noqa: SLF001 - what transformers itself reads
            return "eager"
        widths = (
            {one.attention.key_size == one.attention.value_size for one in self.table.layers} if self.table else set()
        )
        return "eager" if False in widths and hidden.device.type == "cpu" else "fused"

    def _checkpointing(self) -> Checkpointing:
        layer = getattr(self.body, _LAYERS)[0]
        if not (getattr(layer, "gradient_checkpointing", False) or getattr(self.body, "gradient_checkpointing", False)):
            return "none"
        if not layer.training:
            return "none"
        run = getattr(layer, "_gradient_checkpointing_func", None) or self.body._gradient_checkpointing_func  # noqa: SLF001
        return "reentrant" if run.keywords.get("use_reentrant", True) else "non_reentrant"

    def _end_tensor(self, device: torch.device) -> torch.Tensor:
        """Give the ids that end a sequence, where they are compared; moved there once."""
        if self._ends_there is None or self._ends_there.device != device:
            self._ends_there = torch.tensor(self._ends(), device=device, dtype=torch.int64)
        return self._ends_there

    def _ends(self, kwargs: dict[str, Any] | None = None) -> list[int]:
        """Give the ids that end a sequence, as `generate` takes them."""
        kwargs = kwargs or {}
        configs = (kwargs.get("generation_config"), getattr(self.inner, "generation_config", None), self.inner.config)
        for found in (kwargs.get("eos_token_id"), *(getattr(one, "eos_token_id", None) for one in configs)):
            if found is not None:
                return [int(one) for one in found] if isinstance(found, list | tuple) else [int(found)]
        return []


def _mark(one: Pass, _: torch.Tensor) -> None:
    one.updates = True


def _plain(full_name: str) -> str:
    """Give the name of a module as if peft were not there."""
    return full_name.removeprefix("base_model.model.").removesuffix(".base_layer")


def parts_of(model: torch.nn.Module) -> tuple[Any, Any, torch.nn.Module | None]:
    """Find the model of transformers, its decoder and its head."""
    inner: Any = model
    while not isinstance(inner, PreTrainedModel):
        inner = getattr(inner, "module", None) or getattr(getattr(inner, "base_model", None), "model", None)
        if inner is None:
            message = f"{type(model).__name__} is no decoder of transformers: its passes are counted with meter.record"
            raise ValueError(message)
    heads = (getattr(inner, name, None) for name in _HEADS)
    head = next((one for one in heads if isinstance(one, torch.nn.Module)), None)
    body = inner
    while not isinstance(getattr(body, _LAYERS, None), torch.nn.ModuleList):
        body = getattr(body, "language_model", None) or getattr(body, "model", None)
        if body is None:
            message = f"{type(inner).__name__} is no decoder of transformers: its passes are counted with meter.record"
            raise ValueError(message)
    return inner, body, head


def _table_of(inner: Any, body: Any) -> tuple[Any, int | None]:
    """Give the table of a model, and the keys that its layers of bounded attention reach."""
    config = architecture_of(inner)
    try:
        table = transformer_of(config)
    except Underivable as error:
        warnings.warn(f"executed FLOPs of {type(inner).__name__} are not known: {error}", RuntimeWarning, stacklevel=4)
        return None, getattr(body.config, "sliding_window", None)
    windows = {layer.attention.window for layer in table.layers} - {None}
    return table, windows.pop() if windows else None


def architecture_of(inner: Any) -> dict[str, Any]:
    """Give the configuration of a model as config.json has it, with the class that is running."""
    config: dict[str, Any] = inner.config.to_dict() | {"architectures": [type(inner).__name__]}
    if hasattr(inner, "score"):
        config["num_labels"] = inner.config.num_labels
    return config


def _cached(kwargs: dict[str, Any]) -> int:
    """Give the positions that the cache of a pass holds."""
    for name in _CACHES:
        cache = kwargs.get(name)
        if cache is not None:
            return int(cache.get_seq_length())
    return 0


def _is_unusual(kwargs: dict[str, Any], inner: Any) -> bool:
    """Tell whether what `generate` returns does not tell what ran: beams, drafts, embedded prompts."""
    config = kwargs.get("generation_config") or inner.generation_config
    beams = kwargs.get("num_beams") or getattr(config, "num_beams", None) or 1
    return beams > 1 or kwargs.get("assistant_model") is not None or kwargs.get("inputs_embeds") is not None


def _generated_lengths(sequences: Any, ids: Any, mask: Any, ends: list[int]) -> torch.Tensor:
    """Give tokens of each prompt and of each completion, its end included, as a tensor [2, sequences]."""
    number, width = sequences.shape[0], ids.shape[1]
    sampled = sequences[:, width:]
    prompts = torch.full((ids.shape[0],), width, device=sequences.device) if mask is None else mask.sum(1)
    is_end = torch.isin(sampled, torch.tensor(ends, device=sampled.device, dtype=sampled.dtype))
    before = is_end.int().cumsum(1) - is_end.int()
    completions = (before == 0).sum(1)
    return torch.stack([prompts.repeat_interleave(number // ids.shape[0]), completions])


def _scores_only_what_is_needed(device: torch.device) -> bool:
    """Tell whether TRL's fused head leaves out positions without a label: where Triton runs."""
    from trl.kernels import chunked_logprob

    return bool(chunked_logprob._use_triton(device))  # noqa: SLF001 - TRL decides by it
