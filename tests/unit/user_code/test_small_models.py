"""The stand-in for pydantic does what pydantic does, where our classes rely on it."""

from __future__ import annotations

import enum
from typing import Any, Literal

import pydantic
import pytest

from arksim_ci.user_code import small_models


class Colour(str, enum.Enum):  # noqa: UP042
    RED = "red"


class SmallInner(small_models.BaseModel):
    name: str
    colour: Colour | None = None


class RealInner(pydantic.BaseModel):
    name: str
    colour: Colour | None = None


class Small(small_models.BaseModel):
    model_config = small_models.ConfigDict(extra="allow")

    value: float
    inner: list[SmallInner] = small_models.Field(default_factory=list)
    label: Literal["a", "b"] = "a"
    more: dict[str, Any] | None = None


class Real(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")

    value: float
    inner: list[RealInner] = pydantic.Field(default_factory=list)
    label: Literal["a", "b"] = "a"
    more: dict[str, Any] | None = None


BOTH = pytest.mark.parametrize("model", [Small, Real])


@BOTH
@pytest.mark.parametrize(
    "data",
    [
        {"value": 1},
        {"value": "2.5"},
        {"value": 1.5, "inner": [{"name": "n", "colour": "red"}], "label": "b", "more": {"x": [1]}},
        {"value": 1, "extra": "kept"},
    ],
)
def test_good_data_reads_the_same(model: Any, data: dict[str, Any]) -> None:
    made = model(**data)
    assert made.model_dump() == Real(**data).model_dump()
    assert made.model_dump_json() == Real(**data).model_dump_json()
    assert made.model_extra == Real(**data).model_extra


@BOTH
@pytest.mark.parametrize(
    ("data", "field"),
    [
        ({}, "value"),
        ({"value": "much"}, "value"),
        ({"value": None}, "value"),
        ({"value": 1, "label": "c"}, "label"),
        ({"value": 1, "inner": [{}]}, "inner"),
        ({"value": 1, "inner": "text"}, "inner"),
        ({"value": 1, "more": []}, "more"),
    ],
)
def test_bad_data_is_refused_with_the_field(model: Any, data: dict[str, Any], field: str) -> None:
    with pytest.raises(ValueError, match=field):
        model(**data)


@BOTH
def test_copies_are_apart_and_take_updates(model: Any) -> None:
    first = model(value=1, note="x")
    second = first.model_copy(update={"value": 2.0, "limit": 3})
    assert (first.value, second.value, second.limit, second.model_extra) == (1, 2.0, 3, {"note": "x", "limit": 3})
    assert first.model_extra == {"note": "x"}
    assert first != second
    assert first == model(value=1, note="x")


@BOTH
def test_attributes_can_be_set_and_an_unknown_one_is_an_error(model: Any) -> None:
    made = model(value=1)
    made.label = "b"
    assert made.model_dump(exclude_none=True) == {"value": 1.0, "inner": [], "label": "b"}
    with pytest.raises(AttributeError):
        _ = made.nothing


def test_a_model_without_extra_drops_what_it_does_not_know() -> None:
    made = SmallInner(name="n", other=1)
    assert made.model_extra is None
    with pytest.raises(ValueError, match="other"):
        made.other = 1
    assert repr(made) == "SmallInner(name='n', colour=None)"


def test_a_model_is_made_of_mappings_only() -> None:
    with pytest.raises(ValueError, match="mapping"):
        SmallInner.model_validate([1])
    ready = SmallInner(name="n")
    assert SmallInner.model_validate(ready) is ready
