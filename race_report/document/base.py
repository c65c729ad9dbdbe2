"""The scalar types that the document is made of, and the class that every object of it derives from."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    WithJsonSchema,
    WrapValidator,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, ValidatorFunctionWrapHandler
    from pydantic_core import CoreSchema

T = TypeVar("T")

LARGEST_AMOUNT = 1e40
"""More than any FLOPs, pairs, hours or dollars; so much that every product and sum of amounts stays finite."""

LARGEST_COUNT = 2**53
"""The largest integer that every JSON reader keeps exactly (a double has 53 bits)."""

END = "$(?!\n)"
"""The end of a pattern: in Python's dialect `$` alone also matches before a trailing newline."""


class _WithoutNull:
    """Marks `T | None` as: absent is None to the reader, but an explicit null is refused."""

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        nullable = handler(source)
        assert nullable["type"] == "nullable", source
        inner: CoreSchema = nullable["schema"]
        return inner


Maybe = Annotated[T | None, _WithoutNull()]
"""A key that may be left out. Null is no value: a gap is named in `not_reported`."""


def _list_or_tuple(value: object) -> object:
    """Refuse what a lax tuple would take (sets, generators, mappings): JSON has one kind of array."""
    if not isinstance(value, list | tuple):
        kind = "tuple_type"
        message = "Input should be an array"
        raise PydanticCustomError(kind, message)
    return value


Array = Annotated[tuple[T, ...], Field(strict=False), BeforeValidator(_list_or_tuple)]
"""A JSON array; an absent one is the empty tuple."""


def _filled(value: object) -> object:
    """Refuse an empty array; pydantic's own check would count only the elements that are valid."""
    if isinstance(value, list | tuple) and not value:
        kind, message = "too_short", "Input should have an element"
        raise PydanticCustomError(kind, message)
    return value


FilledArray = Annotated[
    tuple[T, ...],
    Field(strict=False, json_schema_extra={"minItems": 1}),
    BeforeValidator(_list_or_tuple),
    BeforeValidator(_filled),
]
"""A JSON array of one element or more."""


def whole(value: object) -> object:
    """Make 5.0 the integer 5, as JSON Schema does; leave everything else to the type."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _exact(value: object, handler: ValidatorFunctionWrapHandler) -> object:
    """Keep an integer exact where the type is a number: FLOPs pass 2^53, and a double would round them."""
    number = handler(value)
    return value if type(value) is int else number


def _instant(text: str) -> str:
    """Refuse days that no calendar has; the pattern has settled the rest."""
    try:
        datetime.fromisoformat(text)
    except ValueError as error:
        kind, message = "instant", "Input should be a day of the calendar"
        raise PydanticCustomError(kind, message) from error
    return text


# Validators run from the right: Field first writes the keyword of the schema, the others see the raw value before it.
Count = Annotated[int, Field(ge=0, le=LARGEST_COUNT), BeforeValidator(whole)]
PositiveCount = Annotated[int, Field(ge=1, le=LARGEST_COUNT), BeforeValidator(whole)]
Seed = Annotated[int, Field(ge=-LARGEST_COUNT, le=LARGEST_COUNT), BeforeValidator(whole)]
Number = Annotated[float, WrapValidator(_exact)]
Amount = Annotated[float, Field(ge=0, le=LARGEST_AMOUNT), WrapValidator(_exact)]
PositiveAmount = Annotated[float, Field(gt=0, le=LARGEST_AMOUNT), WrapValidator(_exact)]
Fraction = Annotated[float, Field(ge=0, le=1), WrapValidator(_exact)]

Text = Annotated[str, Field(pattern="[^ \t\r\n\u00a0\u3000]")]
"""Text that shows something."""
Id = Annotated[str, Field(pattern=f"^[A-Za-z][A-Za-z0-9._-]*{END}")]
Url = Annotated[str, Field(pattern=f"^https?://[^ \t\r\n]+{END}")]
Pointer = Annotated[str, Field(pattern=f"^(/([^~/]|~[01])*)+{END}")]
RelativePath = Annotated[str, Field(pattern=rf"^(?![/~]|[A-Za-z]:)[^\\\n]+{END}")]
Instant = Annotated[
    str,
    Field(
        pattern=(
            "^(?!0000)[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
            "T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]{1,9})?"
            f"(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9]){END}"
        ),
        json_schema_extra={"format": "date-time"},
    ),
    AfterValidator(_instant),
]

Basis = Literal["measured", "derived", "estimated", "upper_bound", "lower_bound"]
"""How a figure was come by, from the strongest to a mere bound."""

Precision = Literal[
    "fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "mxfp8", "int8", "fp4", "mxfp4", "nvfp4", "nf4", "int4", "mixed"
]
"""A number format of weights or arithmetic."""

StepUnit = Literal["rollout_step", "optimizer_step"]
"""What a step is: one round of rollouts, or one change of the weights."""

ExtensionKey = Annotated[str, Field(pattern="^x-")]
"""A key for whatever the standard does not name; nothing reads it."""


class DocumentObject(BaseModel):
    """An object of the report: frozen, strict, closed but for `x-` keys."""

    model_config = ConfigDict(
        frozen=True,
        strict=True,
        extra="allow",
        allow_inf_nan=False,
        use_attribute_docstrings=True,
        regex_engine="python-re",  # the default engine has no look-ahead, which END needs
    )

    __pydantic_extra__: dict[ExtensionKey, Annotated[Any, WithJsonSchema({})]]

    closed: ClassVar[bool] = True
    """Whether a key that is neither named here nor begins with `x-` is an error."""

    needs: ClassVar[dict[str, tuple[str, ...]]] = {}
    """Keys that a key brings with it: JSON Schema's `dependentRequired`."""

    @model_validator(mode="wrap")
    @classmethod
    def _report_missing_companions(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Report the keys that `needs` misses beside every other fault, not instead of them."""
        if not cls.needs or not isinstance(data, dict):
            return handler(data)
        missing = {key for present in data.keys() & cls.needs.keys() for key in cls.needs[present] if key not in data}
        if not missing:
            return handler(data)
        errors = [InitErrorDetails(type="missing", loc=(key,), input=data) for key in sorted(missing)]
        try:
            handler(data)
        except ValidationError as error:
            errors += [
                InitErrorDetails(
                    type=PydanticCustomError(other["type"], "{text}", {"text": other["msg"]}),
                    loc=other["loc"],
                    input=other["input"],
                )
                for other in error.errors()
            ]
        raise ValidationError.from_exception_data(cls.__name__, errors)
