from edge_servlets import (
    AcceptedElicitation as AcceptedElicitation,
    CancelledElicitation as CancelledElicitation,
    DeclinedElicitation as DeclinedElicitation,
    ElicitationResult as ElicitationResult,
)

from .._lacks import finder_of

AcceptedUrlElicitation = AcceptedElicitation
__getattr__ = finder_of(__name__)
