from edge_servlets import Icon as Icon
from fastmcp import Audio as Audio, Context as Context, FastMCP as MCPServer, Image as Image
