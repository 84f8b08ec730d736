import logging

from edge_servlets import tool

own = logging.getLogger("own")
handler = logging.StreamHandler()
handler.setFormatter(logging.Formatter("own %(message)s"))
handler.setLevel(logging.WARNING)
own.addHandler(handler)

free = logging.getLogger("free")
free.setLevel(logging.INFO)
apart = logging.getLogger("own.apart")
apart.propagate = False
logging.getLogger("package").addHandler(logging.NullHandler())


@tool
def logs() -> None:
    own.setLevel(logging.INFO)
    own.info("below the level of the handler")
    own.warning("careful")
    logging.getLogger("own.child").info("below the level of the handler")
    free.getChild("a").info("of a child")
    free.info("shown")
    logging.getLogger("package").warning("of a package")
