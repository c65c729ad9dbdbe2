"""A run: what was done, on what, for how long, with what result."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from race_report.document.base import (
    END,
    Amount,
    Array,
    Count,
    DocumentObject,
    Fraction,
    Id,
    Maybe,
    Number,
    PositiveAmount,
    PositiveCount,
    Precision,
    RelativePath,
    Seed,
    StepUnit,
    Text,
)
from race_report.document.ledger import Conventions, LedgerEntry, Totals

RunRole = Literal["main", "pilot", "validation", "baseline", "ablation", "sweep", "preparation", "failed"]


class Algorithm(DocumentObject):
    """The settings of the algorithm, as they were meant; what happened stands in `rollouts`."""

    name: Maybe[Text] = None
    """The algorithm, such as `grpo`, `ppo`, `rloo`, `dapo`, `dpo`."""
    group_size: Maybe[PositiveCount] = None
    """Rollouts for one prompt."""
    prompts_per_step: Maybe[PositiveCount] = None
    """Prompts trained on in one rollout step."""
    rollout_steps: Maybe[Count] = None
    """Rounds of rollouts; 0 in offline training."""
    optimizer_steps: Maybe[Count] = None
    """Changes of the policy's weights: rollout_steps x minibatches_per_batch x updates_per_batch."""
    value_optimizer_steps: Maybe[Count] = None
    """Changes of the critic's weights, where they differ from the policy's."""
    updates_per_batch: Maybe[PositiveCount] = None
    """Times each batch of rollouts is trained on (mu)."""
    minibatches_per_batch: Maybe[PositiveCount] = None
    """Optimizer steps into which one pass over a batch is cut."""
    kl_coefficient: Maybe[Amount] = None
    """Weight of the divergence from the reference model (beta)."""
    learning_rate: Maybe[Amount] = None
    """Peak learning rate."""
    clip_low: Maybe[Amount] = None
    """Lower clip range of the probability ratio (epsilon)."""
    clip_high: Maybe[Amount] = None
    """Upper clip range of the probability ratio, where it differs."""
    loss_type: Maybe[Text] = None
    """Name of the loss in the software that ran it."""
    reference_refresh_steps: Maybe[PositiveCount] = None
    """Optimizer steps after which the reference model is replaced by the policy."""
    max_prompt_tokens: Maybe[PositiveCount] = None
    """Cap on prompt tokens."""
    max_completion_tokens: Maybe[PositiveCount] = None
    """Cap on completion tokens, as the software counts them; a note says so where it counts tool text too."""
    max_turns: Maybe[PositiveCount] = None
    """Cap on turns of a rollout with tools."""
    temperature: Maybe[Amount] = None
    """Sampling temperature."""
    top_p: Maybe[Fraction] = None
    """Nucleus sampling threshold."""
    note: Maybe[Text] = None
    """Anything a reader should know."""


class Stage(DocumentObject):
    """A stretch of the run under settings of its own."""

    id: Id
    """The name by which ledger entries refer to this stage."""
    first_step: Maybe[Count] = None
    """First step, included."""
    last_step: Maybe[Count] = None
    """Last step, included."""
    step_unit: Maybe[StepUnit] = None
    """What a step is here."""
    algorithm: Maybe[Algorithm] = None
    """Only the settings that differ from the run's."""


class GroupSize(DocumentObject):
    """How many groups had a size."""

    size: PositiveCount
    """Rollouts in the group."""
    groups: Count
    """Groups of that size."""


class PipelineItem(DocumentObject):
    """One stage of the generate, filter, control, replay pipeline."""

    id: Id
    """The name by which ledger entries refer to this item."""
    stage: Literal["generate", "filter", "control", "replay"]
    """What the item does."""
    unit: Maybe[Literal["prompt", "rollout", "token"]] = None
    """What is counted in `items_in` and `items_out`."""
    items_in: Maybe[Count] = None
    """Items that entered."""
    items_out: Maybe[Count] = None
    """Items that left."""
    tokens: Maybe[Count] = None
    """Tokens that a model read or wrote for it."""
    model: Maybe[Id] = None
    """The model that was used."""
    note: Maybe[Text] = None
    """Anything a reader should know."""


class Rollouts(DocumentObject):
    """What happened to rollouts, in counts: generated + carried_in = trained + discarded + carried_out."""

    prompts: Maybe[Count] = None
    """Groups drawn, one a draw: a prompt drawn twice counts twice."""
    generated: Maybe[Count] = None
    """Rollouts sampled in this run."""
    scored: Maybe[Count] = None
    """Rollouts that got a reward."""
    trained: Maybe[Count] = None
    """Distinct rollouts that entered an update batch."""
    discarded: Maybe[Count] = None
    """Rollouts never trained on: filtered, expired, down-sampled."""
    reused: Maybe[Count] = None
    """Uses of a rollout in a later batch; several updates on one batch are no reuse."""
    carried_in: Maybe[Count] = None
    """Rollouts that came from before the run: buffers, offline pairs."""
    carried_out: Maybe[Count] = None
    """Rollouts left in buffers at the end."""
    truncated: Maybe[Count] = None
    """Rollouts cut at the cap."""
    prompt_tokens: Maybe[Count] = None
    """Prompt tokens, the prompt counted once a rollout."""
    completion_tokens: Maybe[Count] = None
    """Tokens that a policy sampled, the end-of-sequence token included."""
    read_tokens: Maybe[Count] = None
    """Tokens of tool results and forced text: read by the policy, not sampled."""
    group_sizes: Array[GroupSize] = ()
    """Sizes of the groups as generated, a draw at a time."""
    trained_group_sizes: Array[GroupSize] = ()
    """Sizes of the groups as trained on."""
    max_staleness: Maybe[Count] = None
    """Most policy versions between sampling a rollout and training on it."""
    max_policy_versions: Maybe[PositiveCount] = None
    """Most policy versions that sampled tokens of one rollout."""


class FeedbackItem(DocumentObject):
    """One source of reward."""

    id: Id
    """The name by which ledger entries refer to this item."""
    kind: Literal["rule", "outcome_reward_model", "process_reward_model", "judge", "environment", "human", "self"]
    """What judges."""
    model: Maybe[Id] = None
    """The model that judges, where one does."""
    note: Maybe[Text] = None
    """Anything a reader should know."""


class HardwarePool(DocumentObject):
    """Accelerators that were reserved together; pools are disjoint."""

    id: Id
    """The pool's name."""
    components: Array[Literal["search", "learning", "feedback", "evaluation", "preparation"]] = ()
    """Components it served; none means reserved and idle."""
    accelerator: Maybe[Text] = None
    """Name of the accelerator, such as `NVIDIA H100 SXM`."""
    count: Maybe[PositiveCount] = None
    """Accelerators in the pool."""
    wall_clock_hours: Maybe[Amount] = None
    """Hours of the pool; `time_basis` says what they contain."""
    gpu_hours: Maybe[Amount] = None
    """Accelerator-hours of the pool: count x wall_clock_hours."""
    utilization: Maybe[Fraction] = None
    """Model FLOPs utilization (MFU), a fraction: model FLOPs of the components served over count x peak x hours; never
    from `executed_flops`, which would be hardware utilization."""
    peak_flops_per_second: Maybe[PositiveAmount] = None
    """Peak rate of one accelerator in FLOP/s."""
    peak_kind: Maybe[Literal["dense", "sparse"]] = None
    """Whether the peak is for dense matrices; 2:4 sparsity doubles it."""
    peak_source: Maybe[Text] = None
    """Where the peak is published."""
    precision: Maybe[Precision] = None
    """Number format that the peak and the work are in."""
    time_basis: Maybe[Literal["step", "train", "wall_clock"]] = None
    """What the hours contain: steps only, training only, or everything."""
    stages: Array[Id] = ()
    """Stages of the run in which the pool was used; none means all."""
    note: Maybe[Text] = None
    """Anything a reader should know."""


class Energy(DocumentObject):
    """Energy and carbon, as a tracker measured them."""

    energy_kwh: Maybe[Amount] = None
    """Energy of the whole run in kWh, as metered at the machine, without the overhead of the building (PUE)."""
    gpu_energy_kwh: Maybe[Amount] = None
    """Energy of the accelerators in kWh."""
    cpu_energy_kwh: Maybe[Amount] = None
    """Energy of the processors in kWh."""
    ram_energy_kwh: Maybe[Amount] = None
    """Energy of the memory in kWh."""
    kg_co2e: Maybe[Amount] = None
    """Emissions in kilograms of CO2 equivalent, by the mean intensity of the grid (location-based)."""
    grid_kg_co2e_per_kwh: Maybe[Amount] = None
    """Carbon intensity of the grid in kilograms per kWh."""
    duration_hours: Maybe[Amount] = None
    """Hours that the tracker saw."""
    tracker: Maybe[Text] = None
    """Software and version that measured."""


class Result(DocumentObject):
    """One figure that the run was for."""

    id: Maybe[Id] = None
    """A name for pointers from elsewhere in the report."""
    metric: Text
    """What was measured, such as `pass@1`."""
    target: Maybe[Text] = None
    """On what, such as `MATH-500`."""
    target_kind: Maybe[Literal["training_reward", "pilot", "held_out", "common_judge"]] = None
    """What sort of target it is."""
    value: Number
    """The figure."""
    samples: Maybe[PositiveCount] = None
    """Samples it is a mean over: 500 problems, four answers each, are 2,000."""
    seeds: Maybe[PositiveCount] = None
    """Training seeds it is a mean over."""
    low: Maybe[Number] = None
    """Lower end of its interval."""
    high: Maybe[Number] = None
    """Upper end of its interval."""
    step: Maybe[Count] = None
    """Step of the checkpoint."""
    checkpoint: Maybe[Literal["last", "best"]] = None
    """Whether the checkpoint was the last, or chosen by its result."""
    note: Maybe[Text] = None
    """Anything a reader should know."""


class Coverage(DocumentObject):
    """Which part of the run the figures cover."""

    first_step: Maybe[Count] = None
    """First step counted."""
    last_step: Maybe[Count] = None
    """Last step counted."""
    planned_last_step: Maybe[Count] = None
    """Last step of the schedule, where the run stopped before it."""
    step_unit: Maybe[StepUnit] = None
    """What a step is here."""
    complete: Maybe[bool] = None
    """Whether the figures cover all that the run did."""
    restarts: Maybe[Count] = None
    """Times the run was resumed."""


class Trace(DocumentObject):
    """The journal from which the ledger can be replayed."""

    path: RelativePath
    """Path of the JSON Lines file, relative to the report, with forward slashes."""
    sha256: Annotated[str, Field(pattern=f"^[0-9a-f]{{64}}{END}")]
    """Digest of the file."""
    records: Maybe[Count] = None
    """Records in it."""
    bytes: Maybe[Count] = None
    """Its size in bytes."""


class Run(DocumentObject):
    """One run with its own ledger."""

    id: Id
    """The run's name."""
    role: Maybe[RunRole] = None
    """What the run is in the work: `main` where nothing is said."""
    builds_on: Array[Id] = ()
    """Runs whose outcome this one starts from; their compute is theirs."""
    policy: Maybe[Id] = None
    """The model that is trained."""
    algorithm: Maybe[Algorithm] = None
    """Settings."""
    stages: Array[Stage] = ()
    """Stretches of the run whose settings differ."""
    rollouts: Maybe[Rollouts] = None
    """What happened to rollouts."""
    pipeline: Array[PipelineItem] = ()
    """How rollouts were generated, filtered, controlled and replayed."""
    feedback: Array[FeedbackItem] = ()
    """What judged them."""
    conventions: Maybe[Conventions] = None
    """Conventions of this run's figures."""
    ledger: Array[LedgerEntry] = ()
    """Every FLOP, entered once."""
    totals: Maybe[Totals] = None
    """Sums of the ledger."""
    gpu_hours: Maybe[Amount] = None
    """Accelerator-hours of the whole run."""
    cost_usd: Maybe[Amount] = None
    """Cost of the whole run in US dollars."""
    hardware: Array[HardwarePool] = ()
    """What it ran on."""
    energy: Maybe[Energy] = None
    """Energy and carbon."""
    results: Array[Result] = ()
    """What came out."""
    coverage: Maybe[Coverage] = None
    """The steps that the figures cover."""
    seed: Maybe[Seed] = None
    """Random seed."""
    software: Maybe[dict[Text, Text]] = None
    """Versions by package name."""
    trace: Maybe[Trace] = None
    """The journal of the run."""
    note: Maybe[Text] = None
    """Anything a reader should know."""
