from edge_servlets import (
    AcceptedElicitation as AcceptedElicitation,
    CancelledElicitation as CancelledElicitation,
    DeclinedElicitation as DeclinedElicitation,
    ElicitationResult as ElicitationResult,
)

AcceptedUrlElicitation = AcceptedElicitation
