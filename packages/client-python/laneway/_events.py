"""Events as an endpoint gets them: verified, and one list whether they came alone or in a batch."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import time
from typing import Any, Mapping, Sequence, TypedDict

from ._errors import EventsRefused

# Clocks may differ by so much (s), and a delivery may be under way for so long.
TOLERANCE_S = 300


class Event(TypedDict):
    """What has happened. ``data["event_id"]`` is unique; of a message ``data["seq"]`` rises with each change."""

    type: str
    timestamp: str
    data: dict[str, Any]


def verify_event(
    headers: Mapping[str, str],
    raw_body: bytes,
    secret: str | Sequence[str],
    now: float | None = None,
) -> list[Event]:
    """Returns the events of a delivery. ``raw_body`` must be the bytes that came: parsed and written again they differ.

    ``secret`` is that of the endpoint, or both while it is rotated. Raises EventsRefused when the delivery is signed
    with none of them, or was signed more than five minutes before or after ``now``.
    """
    given = {name.lower(): value for name, value in headers.items()}
    seconds = given.get("webhook-timestamp", "")
    now = time.time() if now is None else now
    if not re.fullmatch(r"[0-9]{1,12}", seconds) or abs(now - int(seconds)) > TOLERANCE_S:
        raise EventsRefused("The delivery was signed too long ago, or not at all.")
    signed = f"{given.get('webhook-id', '')}.{seconds}.".encode(errors="surrogateescape") + raw_body
    signatures = [_bytes_of(each[3:]) for each in given.get("webhook-signature", "").split(" ") if each.startswith("v1,")]
    secrets = [secret] if isinstance(secret, str) else secret
    expected = [hmac.new(_key_of(each), signed, hashlib.sha256).digest() for each in secrets]
    if not any(hmac.compare_digest(one, other) for one in expected for other in signatures):
        raise EventsRefused("The signature does not match.")
    return _events_of(raw_body)


def _key_of(secret: str) -> bytes:
    if not secret.startswith("whsec_"):
        raise ValueError("The secret of an endpoint begins with whsec_")
    return base64.b64decode(secret[len("whsec_") :])


def _bytes_of(text: str) -> bytes:
    try:
        return base64.b64decode(text)
    except ValueError:
        return b""


def _events_of(raw_body: bytes) -> list[Event]:
    try:
        body = json.loads(raw_body)
    except ValueError as error:
        raise EventsRefused("The body is not JSON.") from error
    events = body.get("data") if isinstance(body, dict) and body.get("type") == "batch" else [body]
    # Laneway has signed it, so no more needs to be checked.
    if isinstance(events, list) and all(isinstance(each, dict) and isinstance(each.get("data"), dict) for each in events):
        return events
    raise EventsRefused("The body holds no events.")
