from typing import Annotated

from edge_servlets import tool


@tool
def google(name: str, times: int = 1) -> None:
    """Greets somebody.

    It is polite.

    Args:
        name (str): Whom to greet,
            on two lines.
        times: How often: one or more.

    Returns:
        Nothing.

    Raises:
        ValueError: Never.

    Example:
        greet("Ada")
    """


@tool
def numpy(name: str, times: int = 1) -> None:
    """Greets somebody.

    Parameters
    ----------
    name : str
        Whom to greet.

        In full.
    times : int, optional
        How often.

    Returns
    -------
    None

    Notes
    -----
    It is polite.
    """


@tool
def sphinx(name: str, times: int = 1) -> None:
    """Greets somebody.

    :param name: Whom
        to greet.
    :param int times: How often.
    :type times: int
    :returns: Nothing.
    :raises ValueError: Never.
    """


@tool
def bullets(name: str, times: int = 1) -> None:
    """Greets somebody.

    Args:
    - name: Whom to
      greet.
    - `times`: How often.

    It is polite.
    """


@tool
def markdown(name: str, times: int = 1) -> None:
    """Greets somebody.

    Parameters:

    * **name** (str) - Whom to greet.
    * times – How often.
    """


@tool
def dashes(name: str, times: int = 1) -> None:
    """Greets somebody.

    Args:
        name (str) - Whom to greet.
        `times`: How often.
    """


@tool
def nameless(name: str) -> None:
    """Greets somebody.

    Args:
        Somebody to greet, by their first name
    """


@tool
def nobody() -> None:
    """Greets somebody.

    Args:
        None
    """


@tool
def choices(name: str, times: int = 1) -> None:
    """Greets somebody.

    Args:
        name: Whom:
        - first: a
        last - b
        - times: How often.
    """


@tool
def apart(name: str, times: int = 1) -> None:
    """Greets somebody.

    Args:
    - name: Whom.

    - times: How often.

    It is polite.
    """


@tool
def plain(name: str) -> None:
    "Greets somebody."


@tool
def prose(name: str) -> None:
    """
    Options:
        are not arguments.
    """


@tool
def none(name: str) -> None: ...


@tool
def annotated(name: Annotated[str, "By its hint"]) -> None:
    """Greets somebody.

    Args:
        name: By its docstring.
    """


@tool(description="By its decorator")
def overridden(name: str) -> None:
    """Greets somebody.

    Args:
        name: Whom to greet.
    """
