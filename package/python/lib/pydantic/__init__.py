"""Models in the words of pydantic 2, as dataclasses that the kit describes and checks. What is not here says so when it is imported."""

import dataclasses
import json
from annotationlib import Format, get_annotations
from copy import deepcopy
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from edge_servlets import Field as Field
from edge_servlets._schema import MISSING, Mismatch, Shapes, default_of, is_field

__version__ = VERSION = "2.12.0"


class ValidationError(ValueError): ...


class ConfigDict(dict):
    """Is taken, and does nothing."""


def _own_fields(cls):
    """Has the class annotations and defaults as a dataclass wants them."""
    hints = {}
    for name, hint in get_annotations(cls, format=Format.FORWARDREF).items():
        if name.startswith("_") or name == "model_config":
            continue
        default = cls.__dict__.get(name, MISSING)
        if is_field(default):
            field, default = default, default_of(default)
            factory = getattr(field, "default_factory", None)
            field.default, field.default_factory = MISSING, None
            hint = Annotated[hint, field]
            if factory is not None:
                default = dataclasses.field(default_factory=factory)
            if default is MISSING:
                delattr(cls, name)
            else:
                setattr(cls, name, default)
        if isinstance(default, (list, dict, set)):
            setattr(cls, name, dataclasses.field(default_factory=lambda given=default: deepcopy(given)))
        hints[name] = hint
    return hints


class BaseModel:
    def __init_subclass__(cls, **options):
        super().__init_subclass__()
        cls.__annotations__ = _own_fields(cls)
        dataclasses.dataclass(kw_only=True)(cls)

    def __post_init__(self):
        hints = get_type_hints(type(self))
        for one in dataclasses.fields(self):
            value = getattr(self, one.name)
            if isinstance(value, (dict, list)):
                setattr(self, one.name, _as_models(hints[one.name], value))

    @classmethod
    def model_validate(cls, given, **options):
        if isinstance(given, cls):
            return given
        try:
            return Shapes().root(cls).convert(given)
        except Mismatch as wrong:
            raise ValidationError(str(wrong)) from None

    @classmethod
    def model_validate_json(cls, text, **options):
        return cls.model_validate(json.loads(text))

    @classmethod
    def model_json_schema(cls, **options):
        return Shapes().root(cls).schema

    def model_dump(self, *, mode="python", include=None, exclude=None, exclude_none=False, **options):
        members = {one.name: getattr(self, one.name) for one in dataclasses.fields(self)}
        return {
            name: _plain(value, exclude_none)
            for name, value in members.items()
            if not (exclude_none and value is None or include and name not in include or exclude and name in exclude)
        }

    dict = model_dump

    def model_dump_json(self, *, indent=None, **options):
        from edge_servlets._json import encode

        made = encode(self.model_dump(**options))
        return made if indent is None else json.dumps(json.loads(made), indent=indent, ensure_ascii=False)

    json = model_dump_json

    def model_copy(self, *, update=None, deep=False):
        return dataclasses.replace(deepcopy(self) if deep else self, **(update or {}))


def _plain(value, exclude_none):
    if isinstance(value, BaseModel):
        return value.model_dump(exclude_none=exclude_none)
    if isinstance(value, dict):
        return {name: _plain(one, exclude_none) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_plain(one, exclude_none) for one in value)
    return value


def _as_models(hint, value):
    """Dicts as the models that a type wants in their place."""
    arms = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    for arm in arms:
        if isinstance(value, dict) and isinstance(arm, type) and issubclass(arm, BaseModel):
            return arm.model_validate(value)
        if isinstance(value, list) and get_origin(arm) is list:
            return [_as_models(get_args(arm)[0], one) if isinstance(one, dict) else one for one in value]
    return value


_URL = Annotated[str, Field(json_schema_extra={"format": "uri"})]
AnyUrl = AnyHttpUrl = HttpUrl = FileUrl = _URL
EmailStr = Annotated[str, Field(json_schema_extra={"format": "email"})]
PositiveInt, NonNegativeInt = Annotated[int, Field(gt=0)], Annotated[int, Field(ge=0)]
PositiveFloat, NonNegativeFloat = Annotated[float, Field(gt=0)], Annotated[float, Field(ge=0)]
StrictStr, StrictInt, StrictFloat, StrictBool = str, int, float, bool


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    raise ImportError(
        f"there is no pydantic.{name} in a servlet: its models are dataclasses, which the types of their members check. "
        "Check more in the handler, or name pydantic<2 in requirements.txt"
    )
