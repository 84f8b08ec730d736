from edge_servlets import Context as Context
