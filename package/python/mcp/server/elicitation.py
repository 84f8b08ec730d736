from fastmcp._lacks import finder_of
from fastmcp.server.elicitation import (
    AcceptedElicitation as AcceptedElicitation,
    AcceptedUrlElicitation as AcceptedUrlElicitation,
    CancelledElicitation as CancelledElicitation,
    DeclinedElicitation as DeclinedElicitation,
    ElicitationResult as ElicitationResult,
)

__getattr__ = finder_of(__name__)
