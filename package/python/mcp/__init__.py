"""The names of the official SDK that servers of one file import: those of `fastmcp` beside it."""
