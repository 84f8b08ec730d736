"""The members of `Context` that modules of their own have."""


class Members:
    """Methods: a line for each module, such as one that calls a host function of a feature."""

    __slots__ = ()

    from ._notices import (
        notify_elicitation_complete,
        notify_prompts_changed,
        notify_resource_updated,
        notify_resources_changed,
        notify_tools_changed,
    )
