"""One request over HTTP: repeated where that does nothing twice, and its refusal as an error."""

from __future__ import annotations

import http.client
import json
import os
import random
import re
import ssl
import threading
import time
import uuid
from base64 import urlsafe_b64encode
from typing import IO, Any, Iterator, Mapping, Union
from urllib.parse import quote, urlencode, urlsplit

from ._errors import LanewayRefused, LanewayUnavailable

VERSION = "0.1.0"

# Waits before a repeat (s): each twice the one before, so that a service that was restarted is found again.
FIRST_WAIT_S = 0.1
LONGEST_WAIT_S = 2.0
# The request was not processed: by the service, or a proxy before it. 429 as well, which says when to come again.
AGAIN = frozenset({429, 502, 503, 504})
# Laneway answers 502 with this code when WhatsApp does not deliver a file: a repeat would not either.
FINAL = frozenset({"media_unavailable"})

Bytes = Union[bytes, IO[bytes]]


class Download:
    """Bytes as they come. Close it, or use it in a ``with`` statement."""

    def __init__(self, response: http.client.HTTPResponse, connection: http.client.HTTPConnection) -> None:
        self._response = response
        self._connection = connection
        self.content_type = response.headers.get("Content-Type", "")

    def read(self, amount: int | None = None) -> bytes:
        try:
            piece = self._response.read(amount)
        except (OSError, http.client.HTTPException) as error:
            raise LanewayUnavailable("The connection was lost before the end.") from error
        # Where less came than was announced, nothing more does, and nothing says so.
        if not piece and amount != 0 and self._response.length:
            raise LanewayUnavailable("The connection was lost before the end.")
        return piece

    def __iter__(self) -> Iterator[bytes]:
        while piece := self.read(65_536):
            yield piece

    def close(self) -> None:
        self._response.close()
        self._connection.close()

    def __enter__(self) -> Download:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Caller:
    """Requests to the service at one address with one key. Threads may share it: each has a connection of its own."""

    def __init__(self, url: str, key: str, account: int | None, timeout: float) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("The url must begin with https:// or http://")
        # What it is must not be repeated: it is a secret.
        if not re.fullmatch(r"[!-~]+", key):
            raise ValueError("The key must be one key, and nothing else")
        self._parts = parts
        self._key = key
        self._account = account
        self._timeout = timeout
        self._local = threading.local()
        self._context = ssl.create_default_context() if parts.scheme == "https" else None

    def call(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str | None] | None = None,
        body: Any = None,
        data: Bytes | None = None,
        content_type: str = "application/json",
        key_in_body: bool = False,
        keyed: bool = False,
        streams: bool = False,
    ) -> Any:
        """The answer: parsed JSON, or with ``streams`` a Download.

        ``keyed``: the route takes an Idempotency-Key, and gets one unless the caller has given it, so that a request
        whose answer was lost is made again. ``data`` is sent as it is, and only once.
        """
        sent = {name: value for name, value in (headers or {}).items() if value is not None}
        if keyed:
            sent["Idempotency-Key"] = _header_of(sent.get("Idempotency-Key") or str(uuid.uuid4()))
        if not key_in_body:
            sent["Authorization"] = f"Bearer {self._key}"
        if self._account is not None:
            sent["X-Laneway-Account"] = str(self._account)
        payload: Bytes | None = data
        if data is not None:
            sent["Content-Type"] = content_type
        elif method in ("POST", "PUT", "PATCH"):
            sent["Content-Type"] = "application/json"
            payload = json.dumps({**(body or {}), **({"api_key": self._key} if key_in_body else {})}).encode()
        target = self._target(path, params or {}, query or {})
        may_repeat = data is None and (keyed or method != "POST")
        return self._until_answered(method, target, sent, payload, may_repeat, streams)

    def _target(self, path: str, params: Mapping[str, Any], query: Mapping[str, Any]) -> str:
        for name, value in params.items():
            # As parts of a path they mean another one.
            if str(value) in ("", ".", ".."):
                raise ValueError(f"{name} must be what a list shows")
            path = path.replace("{" + name + "}", quote(str(value), safe=""))
        given = {name: _text_of(value) for name, value in query.items() if value is not None}
        return self._parts.path.rstrip("/") + path + (f"?{urlencode(given)}" if given else "")

    def _until_answered(
        self, method: str, target: str, headers: dict[str, str], payload: Bytes | None, may_repeat: bool, streams: bool
    ) -> Any:
        deadline = time.monotonic() + self._timeout
        wait = FIRST_WAIT_S
        while True:
            failure: LanewayUnavailable | LanewayRefused
            least = 0.0
            try:
                if not may_repeat:
                    # One that was kept may be closed at the other end by now, and then nobody knows what was done.
                    self._drop(self._kept())
                return self._once(method, target, headers, payload, streams)
            except LanewayRefused as refused:
                if refused.status not in AGAIN or refused.code in FINAL:
                    raise
                failure, least = refused, refused.retry_after or 0.0
                # Before anything was done for it: then every request may come again.
                again = may_repeat or (refused.status == 429 and not hasattr(payload, "read"))
            except (OSError, http.client.HTTPException) as error:
                failure = LanewayUnavailable(f"The service cannot be reached: {error or type(error).__name__}.")
                failure.__cause__ = error
                again = may_repeat
            pause = max(wait, least) * random.uniform(0.8, 1.2)
            if not again or time.monotonic() + pause > deadline:
                raise failure
            time.sleep(pause)
            wait = min(2 * wait, LONGEST_WAIT_S)

    def _once(
        self, method: str, target: str, headers: dict[str, str], payload: Bytes | None, streams: bool
    ) -> Any:
        connection = self._connect() if streams else self._kept()
        try:
            connection.request(method, target, body=payload, headers={"User-Agent": f"laneway-python/{VERSION}", **headers})
            response = connection.getresponse()
            if streams and response.status < 300:
                return Download(response, connection)
            text = response.read()
        except BaseException:
            # What is left of the answer would be taken for that of the next request.
            self._drop(connection)
            raise
        if streams or response.will_close:
            self._drop(connection)
        return _answer_of(response, text)

    def _connect(self) -> http.client.HTTPConnection:
        host = self._parts.hostname or ""
        port = self._parts.port or (80 if self._context is None else 443)
        if self._context is None:
            return http.client.HTTPConnection(host, port, timeout=self._timeout)
        return http.client.HTTPSConnection(host, port, timeout=self._timeout, context=self._context)

    def _kept(self) -> http.client.HTTPConnection:
        # A process that was forked has a copy of its parent's connection, on which both would write.
        kept: tuple[int, http.client.HTTPConnection] | None = getattr(self._local, "kept", None)
        if kept is None or kept[0] != os.getpid():
            kept = self._local.kept = (os.getpid(), self._connect())
        return kept[1]

    def _drop(self, connection: http.client.HTTPConnection) -> None:
        connection.close()
        kept = getattr(self._local, "kept", None)
        if kept is not None and kept[1] is connection:
            self._local.kept = None

    def close(self) -> None:
        """Closes the connection of this thread."""
        kept = getattr(self._local, "kept", None)
        if kept is not None and kept[0] == os.getpid():
            self._drop(kept[1])


def _answer_of(response: http.client.HTTPResponse, text: bytes) -> Any:
    parsed = _json_of(text)
    if response.status < 300 and isinstance(parsed, (dict, list)):
        return parsed
    error = parsed.get("error") if isinstance(parsed, dict) else None
    retry_after = response.headers.get("Retry-After", "")
    after = float(retry_after) if re.fullmatch(r"[0-9]{1,9}", retry_after) else None
    if not isinstance(parsed, dict) or not isinstance(error, dict):
        message = f"The address answered {response.status}: is it Laneway?"
        raise LanewayRefused(response.status, "unexpected_answer", message, retry_after=after)
    raise LanewayRefused(
        response.status,
        str(error.get("code")),
        str(parsed.get("message")),
        error.get("details") or (),
        str(error.get("request_id", "")),
        after,
    )


def _json_of(text: bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _header_of(key: str) -> str:
    """The key unchanged; encoded if no header can hold it."""
    return key if re.fullmatch(r"[!-~](?:[ -~]*[!-~])?", key) else urlsafe_b64encode(key.encode()).decode().rstrip("=")


def _text_of(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def form_of(fields: Mapping[str, Any], file_name: str, file: bytes) -> tuple[bytes, str]:
    """A form with one file, and its content type."""
    boundary = uuid.uuid4().hex
    quoted = file_name.replace("\\", "\\\\").replace('"', '\\"').replace("\r", " ").replace("\n", " ")
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{_text_of(value)}\r\n'.encode()
        for name, value in fields.items()
    ]
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{quoted}"\r\n'.encode()
    kind = b"Content-Type: application/octet-stream\r\n\r\n"
    return b"".join([*parts, head, kind, file, f"\r\n--{boundary}--\r\n".encode()]), f"multipart/form-data; boundary={boundary}"
