"""Parameters that a call is not given."""

from annotationlib import Format
from collections.abc import Callable
from inspect import (
    Parameter,
    isasyncgenfunction,
    iscoroutinefunction,
    isgeneratorfunction,
    signature,
)
from typing import Any

from edge_servlets._context import context
from edge_servlets._errors import DefinitionError, place_of

from ._lacks import finder_of

_REST = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)


def CurrentContext() -> Any:
    """The context of the call that runs."""
    return context


class Depends:
    """Has each call get what a plain function gives, as the parameter's default: a class so that the kit knows it."""

    def __init__(self, dependency: Callable[[], Any], *, use_cache: bool = True) -> None:
        steps = (iscoroutinefunction, isasyncgenfunction, isgeneratorfunction)
        function = getattr(dependency, "__wrapped__", dependency)
        taken = signature(dependency, annotation_format=Format.FORWARDREF).parameters.values()
        defaults = [one.default for one in taken if one.kind not in _REST]
        is_lacking = any(one is Parameter.empty or isinstance(one, Depends) for one in defaults)
        if is_lacking or any(one(function) for one in steps):
            raise DefinitionError(
                f"{place_of(function)}`Depends` takes a plain function that needs no parameters: call this one in the handler."
            )
        self.call = dependency


__getattr__ = finder_of(__name__)
