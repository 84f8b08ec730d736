from urllib.parse import quote, unquote, urlparse, urlsplit

__all__ = ["parse_header_links", "quote", "requote_uri", "unquote", "urlparse", "urlsplit"]


def requote_uri(uri):
    return quote(uri, safe="!#$%&'()*+,/:;=?@[]~")


def parse_header_links(value):
    """https://www.rfc-editor.org/rfc/rfc8288"""
    links = []
    for one in value.split(",") if value.strip() else []:
        url, *params = one.split(";")
        pairs = (param.partition("=") for param in params)
        links.append({"url": url.strip(" <>\"'"), **{name.strip(): text.strip(" \"'") for name, _, text in pairs}})
    return links
