"""The server as a process, and how it ends."""

from __future__ import annotations

import asyncio
import socket

import uvicorn

from barrow.interrupt import is_asked
from barrow.serve.http.app import app
from barrow.serve.http.served import Served, ServerSettings


class Server(uvicorn.Server):
    """Listens at the address of its callers; `run` returns after SIGINT or SIGTERM.

    Answers then have `patience` seconds to finish; those that are left fail with the reason.
    """

    def __init__(
        self,
        offered: Served,
        settings: ServerSettings,
        *,
        port: int = 0,
        patience: float = 30.0,
    ) -> None:
        config = uvicorn.Config(
            app(offered, settings),
            host=settings.callers.address,
            port=port,
            # Its own configuration would close the handlers that the process has.
            log_config=None,
            log_level="warning",
            access_log=False,
            # Later than ours: it cuts connections without a word.
            timeout_graceful_shutdown=int(patience) + 10,
        )
        super().__init__(config)
        self._writer = offered.writer
        self._patience = patience

    async def on_tick(self, counter: int) -> bool:
        """Decide whether to end; a Ctrl-C before the server listened may have been dropped."""
        return await super().on_tick(counter) or is_asked()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """As uvicorn's, with an end for those who are still answered."""
        ending = asyncio.create_task(self._end())
        try:
            await super().shutdown(sockets)
        finally:
            ending.cancel()

    async def _end(self) -> None:
        await asyncio.sleep(self._patience)
        if self._writer is not None:
            await asyncio.to_thread(self._writer.service.close)
