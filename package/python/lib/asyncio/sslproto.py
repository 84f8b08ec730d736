"""Encrypted streams, of which a servlet has none: `fetch` takes care of that."""
