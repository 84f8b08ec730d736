from edge_servlets import Message as Message, PromptResult as PromptResult
