"""The client: the operations of the interface by family, on one connection a thread."""

from __future__ import annotations

from ._call import Caller
from .operations import Operations


class Laneway(Operations):
    """A client of the service at ``url``, with a key.

    A key of an operator acts for ``account``. Requests that may be made again without doing anything twice are made
    again for up to ``timeout`` seconds while the service is away or asks to wait.
    """

    def __init__(self, url: str, key: str, *, account: int | None = None, timeout: float = 30.0) -> None:
        self._caller = Caller(url, key, account, timeout)
        super().__init__(self._caller)

    def close(self) -> None:
        """Closes the connection of this thread; a later call opens another."""
        self._caller.close()

    def __enter__(self) -> Laneway:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
