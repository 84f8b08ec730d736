"""Members of `Context` that are defined in modules of their own: a line for each module."""


class Members:
    """The base of `Context`."""

    __slots__ = ()

    from ._events import emit
    from ._notices import (
        notify_elicitation_complete,
        notify_prompts_changed,
        notify_resource_updated,
        notify_resources_changed,
        notify_tools_changed,
    )
    from ._schedules import cancel_schedule, schedule, schedules
    from ._stored_files import ask_file, open_file as open, store_file as file
    from ._webhooks import revoke_webhook, url_of as webhook
