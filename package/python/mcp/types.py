from edge_servlets import Icon as Icon, ToolAnnotations as ToolAnnotations
