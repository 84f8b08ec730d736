"""What a servlet tells clients that listen."""

from ._drive import Done, raises_where_awaited, tell


@raises_where_awaited
def notify_tools_changed(_: object) -> Done:
    """Tells clients that the list of tools has changed."""
    return tell("notify_tools_changed()", "notify_tool_list_changed")


@raises_where_awaited
def notify_prompts_changed(_: object) -> Done:
    """Tells clients that the list of prompts has changed."""
    return tell("notify_prompts_changed()", "notify_prompt_list_changed")


@raises_where_awaited
def notify_resources_changed(_: object) -> Done:
    """Tells clients that the list of resources has changed."""
    return tell("notify_resources_changed()", "notify_resource_list_changed")


@raises_where_awaited
def notify_resource_updated(_: object, uri: str) -> Done:
    """Tells clients that have subscribed to the resource that it has changed."""
    return tell("notify_resource_updated()", "notify_resource_updated", {"uri": uri})


@raises_where_awaited
def notify_elicitation_complete(_: object, elicitation_id: str) -> Done:
    """Tells the client that the user is done with the page of an `elicit_url`."""
    params = {"elicitationId": elicitation_id}
    return tell("notify_elicitation_complete()", "notify_url_elicitation_completed", params)
