"""How a call can fail."""

from __future__ import annotations

from typing import Any, Mapping, Sequence


class LanewayError(Exception):
    """What every error of a call is. Anything else that it raises is a defect, or a value that cannot be sent."""

    code: str


class LanewayRefused(LanewayError):
    """The request was refused: the message says why, ``details`` names each field at fault.

    A repeat is refused too, unless ``retry_after`` is set: then there is too much at present.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        details: Sequence[Mapping[str, Any]] = (),
        request_id: str = "",
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.details = list(details)
        self.request_id = request_id
        self.retry_after = retry_after


class LanewayUnavailable(LanewayError):
    """No answer, or none in time. It may have been done all the same: a repeat with the same key does nothing twice."""

    code = "unavailable"


class EventsRefused(Exception):
    """A delivery whose signature does not match, that is too old, or that holds no events. Answer it with 400 or 401."""
