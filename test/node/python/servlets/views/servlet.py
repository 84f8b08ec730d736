from edge_servlets import tool, view

board = view("board", "./board.html", title="Board", prefers_border=True)


@tool(view=board, title="Tasks", annotations={"readOnlyHint": True}, meta={"a": 1})
def tasks() -> list[str]:
    """Lists tasks."""
    return ["a"]


@tool(visibility=["app"], task="optional")
def move() -> None: ...
