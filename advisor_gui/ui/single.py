"""One window a user: a second start hands its file to the first and ends."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject
from PySide6.QtNetwork import QLocalServer, QLocalSocket

from advisor_gui.places import Folders

LIMIT_BYTES = 8192


def name(places: Folders) -> str:
    """The socket's name: one for each user and each settings folder."""
    return "stackfit-" + hashlib.sha256(str(places.config).encode()).hexdigest()[:16]


def handed_over(places: Folders, file: str | None) -> bool:
    """True where a window of this user is open already and took FILE."""
    socket = QLocalSocket()
    socket.connectToServer(name(places))
    if not socket.waitForConnected(150):
        return False
    socket.write((str(Path(file).resolve()) if file else "").encode() + b"\n")
    taken = socket.waitForBytesWritten(500)
    socket.disconnectFromServer()
    return bool(taken)


class Listener(QObject):
    """Waits for later starts. Only this user can reach the socket."""

    def __init__(self, places: Folders, on_file: Callable[[str | None], None]) -> None:
        super().__init__()
        self._on_file = on_file
        self._sockets: list[QLocalSocket] = []
        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        QLocalServer.removeServer(name(places))
        self._server.listen(name(places))
        self._server.newConnection.connect(self._connected)

    def close(self) -> None:
        """No start is answered any more."""
        self._server.close()

    def _connected(self) -> None:
        socket = self._server.nextPendingConnection()
        if socket is None:
            return
        self._sockets.append(socket)
        socket.readyRead.connect(self._read)
        socket.disconnected.connect(self._sweep)
        self._read()  # the line may have come with the connection

    def _read(self) -> None:
        for socket in tuple(self._sockets):
            if socket.canReadLine():
                line = bytes(socket.readLine(LIMIT_BYTES).data()).decode("utf-8", "replace").strip()
                self._on_file(line or None)

    def _sweep(self) -> None:
        """Let go of the sockets whose other end has left."""
        self._read()
        for socket in tuple(self._sockets):
            if socket.state() == QLocalSocket.LocalSocketState.UnconnectedState:
                self._sockets.remove(socket)
                socket.deleteLater()
