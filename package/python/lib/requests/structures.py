from _http_clients import Headers as CaseInsensitiveDict

__all__ = ["CaseInsensitiveDict"]
