"""`httpx2`, which has the interface of `httpx`."""

from httpx import *
from httpx import __getattr__ as __getattr__, __version__ as __version__
