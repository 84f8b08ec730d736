"""The names of `typing_extensions`, all of which `typing` and its like have by now."""

import typing
from annotationlib import Format as Format, get_annotations as get_annotations
from collections.abc import Buffer as Buffer
from types import CapsuleType as CapsuleType, get_original_bases as get_original_bases
from typing import *
from typing import evaluate_forward_ref as evaluate_forward_ref
from warnings import deprecated as deprecated


class Doc:
    """Describes a value within `Annotated`."""

    def __init__(self, documentation):
        self.documentation = documentation


def __getattr__(name):
    return getattr(typing, name)
