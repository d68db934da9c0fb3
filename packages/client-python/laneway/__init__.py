"""Sends WhatsApp messages through a Laneway and asks what became of them. Nothing but the standard library is needed.

    laneway = Laneway("https://laneway.example", key)
    message = laneway.sending.message({"to": "+447700900123", "type": "text", "text": {"body": "On its way."}})
    print(laneway.messages.show(message["data"]["id"])["data"]["state"])
"""

from ._client import Laneway
from ._errors import EventsRefused, LanewayError, LanewayRefused, LanewayUnavailable
from ._events import Event, verify_event

__all__ = [
    "Event",
    "EventsRefused",
    "Laneway",
    "LanewayError",
    "LanewayRefused",
    "LanewayUnavailable",
    "verify_event",
]
