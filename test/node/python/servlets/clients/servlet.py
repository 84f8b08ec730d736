"""The HTTP clients that public servers use, in the ways that these use them."""

import http.client
import io
import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import httpx2
import requests
from requests.adapters import HTTPAdapter
from requests.auth import HTTPBasicAuth

from edge_servlets import tool

URL = "https://api.example.com/items"


def with_urlopen() -> Any:
    request = urllib.request.Request(f"{URL}?a=1", headers={"User-Agent": "mine", "X-A": "b"})
    with urllib.request.urlopen(request, timeout=10) as response:
        return [response.status, json.load(response)]


def posted_by_urlopen() -> Any:
    data = urllib.parse.urlencode({"a": "x y"}).encode()
    with urllib.request.urlopen(URL, data) as response:
        return [response.getcode(), json.loads(response.read().decode())]


def failed_by_urlopen() -> Any:
    try:
        urllib.request.urlopen("https://api.example.com/missing")
    except urllib.error.HTTPError as error:
        return [error.code, error.reason, error.read().decode()]


def refused_by_urlopen() -> Any:
    try:
        urllib.request.urlopen("https://forbidden.example.com/")
    except urllib.error.URLError as error:
        return str(error.reason)


def connected() -> Any:
    connection = http.client.HTTPSConnection("api.example.com", timeout=5)
    connection.request("PUT", "/items?b=2", body='{"c":3}', headers={"Content-Type": "application/json"})
    response = connection.getresponse()
    return [response.status, response.getheader("Content-Type"), json.loads(response.read())]


def got_by_requests() -> Any:
    response = requests.get(URL, params={"q": "é", "n": [1, 2]}, headers={"X-A": "b"}, timeout=10)
    response.raise_for_status()
    return [response.status_code, response.ok, response.json()]


def posted_by_requests() -> Any:
    return requests.post(URL, json={"a": 1}, auth=("user", "pass")).json()


def form_by_requests() -> Any:
    return requests.post(URL, data={"a": "x"}).json()


def uploaded_by_requests() -> Any:
    return requests.post(URL, data={"a": "x"}, files={"f": ("n.txt", io.BytesIO(b"hi"))}).json()["body"].count("hi")


def session_of_requests() -> Any:
    with requests.Session() as session:
        session.mount("https://", HTTPAdapter(max_retries=3))
        session.headers.update({"X-A": "session"})
        session.params = {"key": "k"}
        session.auth = HTTPBasicAuth("user", "pass")
        first = session.get("https://api.example.com/cookie").json()
        second = session.get(URL).json()
        third = session.get("https://other.example.com/").json()
        return [one["headers"].get("cookie") for one in (first, second, third)] + [second["url"], second["headers"]["x-a"]]


def failed_by_requests() -> Any:
    try:
        requests.get("https://api.example.com/missing").raise_for_status()
    except requests.exceptions.HTTPError as error:
        return [str(error), error.response.status_code, error.response.text]


def refused_by_requests() -> Any:
    try:
        requests.get("https://forbidden.example.com/")
    except requests.RequestException as error:
        return [type(error).__name__, str(error)]


def invalid_by_requests() -> Any:
    try:
        requests.get("https://api.example.com/text").json()
    except (ValueError, requests.exceptions.JSONDecodeError) as error:
        return isinstance(error, requests.exceptions.RequestException)


def streamed_by_requests() -> Any:
    with requests.get("https://api.example.com/lines", stream=True) as response:
        return [line.decode() for line in response.iter_lines() if line]


def got_by_httpx() -> Any:
    response = httpx.get(URL, params={"q": "é"}, timeout=10.0, follow_redirects=True)
    return [response.raise_for_status().status_code, response.is_success, response.json()]


async def got_by_client() -> Any:
    options: dict[str, Any] = {"timeout": httpx.Timeout(10), "headers": {"X-A": "b"}, "auth": ("user", "pass")}
    async with httpx.AsyncClient(base_url="https://api.example.com/v1", verify=False, **options) as client:
        response = await client.post("/items", json={"a": 1}, headers={"X-B": "c"})
        return response.json()


async def got_by_httpx2() -> Any:
    async with httpx2.AsyncClient() as client:
        response = await client.get(URL, headers={"Accept": "application/geo+json"})
        response.raise_for_status()
        return response.json()["url"]


async def failed_by_httpx() -> Any:
    async with httpx.AsyncClient() as client:
        response = await client.get("https://api.example.com/missing")
        try:
            response.raise_for_status()
        except httpx.HTTPStatusError as error:
            return [str(error), error.response.status_code, str(error.request.url)]


async def refused_by_httpx() -> Any:
    async with httpx.AsyncClient() as client:
        try:
            await client.get("https://forbidden.example.com/")
        except httpx.RequestError as error:
            return [type(error).__name__, str(error), error.request.method]


async def streamed_by_httpx() -> Any:
    async with httpx.AsyncClient() as client, client.stream("GET", "https://api.example.com/lines") as response:
        return [line async for line in response.aiter_lines()]


def without_scheme() -> Any:
    try:
        httpx.get("api.example.com")
    except httpx.UnsupportedProtocol:
        return "refused"


WAYS: dict[str, Callable[[], Any | Awaitable[Any]]] = {
    one.__name__: one
    for one in (
        with_urlopen, posted_by_urlopen, failed_by_urlopen, refused_by_urlopen, connected, got_by_requests,
        posted_by_requests, form_by_requests, uploaded_by_requests, session_of_requests, failed_by_requests,
        refused_by_requests, invalid_by_requests, streamed_by_requests, got_by_httpx, got_by_client, got_by_httpx2,
        failed_by_httpx, refused_by_httpx, streamed_by_httpx, without_scheme,
    )
}  # fmt: skip


@tool
async def use(way: str) -> str:
    """Sends a request in one of the ways; gives what comes of it as JSON."""
    made = WAYS[way]()
    return json.dumps(await made if hasattr(made, "__await__") else made)
