from fastmcp.server.elicitation import (
    AcceptedElicitation as AcceptedElicitation,
    AcceptedUrlElicitation as AcceptedUrlElicitation,
    CancelledElicitation as CancelledElicitation,
    DeclinedElicitation as DeclinedElicitation,
    ElicitationResult as ElicitationResult,
)
