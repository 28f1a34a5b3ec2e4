"""HTTP/1.1 over an eval's control socket (a unix socket)."""

import errno
import os
import re
import socket
import stat
import struct
import time

from ssh.shipped.common.platforms import LINUX
from ssh.shipped.common.text import text_of
from ssh.shipped.probe.frames import MAX_ANSWER_BYTES, MAX_HEAD_BYTES

CONNECT_TIMEOUT_S = 5.0
SO_PEERCRED = 17
SOL_LOCAL, LOCAL_PEERPID = 0, 2  # of macOS
MAX_ADDRESS_BYTES = 100  # a longer path does not fit into the address of a socket everywhere
OUTSIDE = "its record names a socket outside its own folder, and evalroom does not open that"
NOT_A_SOCKET = "its socket is a link or a file of another kind, and evalroom does not open that"
FOREIGN_SOCKET = "its socket belongs to another user, and evalroom does not open it"
OTHER_PROCESS = "another process answers at its socket"
UNSAFE = (OUTSIDE, NOT_A_SOCKET, FOREIGN_SOCKET, OTHER_PROCESS)


class NoAnswer(Exception):
    """A request that got no good answer.

    `kind` is one of: refused, no socket, reset, not allowed, short answer, bad answer, too large,
    no answer, or a sentence of UNSAFE. `unheard`: not one byte came back.
    """

    def __init__(self, kind, unheard=False):
        super().__init__(kind)
        self.kind = kind
        self.unheard = unheard


class Connection:
    """One connection to an eval's control socket."""

    def __init__(self, path):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.used_at = time.monotonic()
        self.held = b""
        try:
            self.sock.settimeout(CONNECT_TIMEOUT_S)
            self.connect(path)
        except OSError as error:
            self.sock.close()
            raise NoAnswer(kind_of(error), unheard=True) from error

    def connect(self, path):
        if len(os.fsencode(path)) <= MAX_ADDRESS_BYTES or not LINUX:
            self.sock.connect(path)
            return
        folder, name = os.path.split(path)
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            self.sock.connect("/proc/self/fd/%d/%s" % (fd, name))
        finally:
            os.close(fd)

    def close(self):
        try:
            self.sock.close()
        except OSError:
            pass

    def peer(self):
        """Return (pid, uid) of the process that listens; pid 0: it can't be seen from here.

        The kernel keeps this from the moment that the process began to listen. The uid is None
        where the system does not tell it. Raises OSError.
        """
        if not LINUX:
            return self.sock.getsockopt(SOL_LOCAL, LOCAL_PEERPID), None
        return struct.unpack("iII", self.sock.getsockopt(socket.SOL_SOCKET, SO_PEERCRED, 12))[:2]

    def ask(self, method, path):
        """Return (status, body, whether the connection may be used again).

        It waits as long as the eval takes: a request that the eval still works on must not be
        followed by another one.
        """
        self.held = b""
        request = "%s %s HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\n" % (
            method,
            path,
        )
        if method != "GET":
            request += "Content-Length: 0\r\nConnection: close\r\n"
        self.sock.settimeout(None)
        try:
            self.sock.sendall((request + "\r\n").encode("ascii"))
            status, headers = self.head()
            body = self.body(status, headers)
        except OSError as error:
            raise NoAnswer(kind_of(error), unheard=not self.held) from error
        self.used_at = time.monotonic()
        keep = headers.get("connection", "").lower() != "close" and "content-length" in headers
        return status, body, keep

    def more(self):
        return self.sock.recv(262144)

    def head(self):
        data, before = b"", 0
        while True:
            at = data.find(b"\r\n\r\n")
            if at >= 0:
                lines = data[:at].decode("latin-1").split("\r\n")
                found = re.match(r"HTTP/1\.[01] (\d{3})", lines[0])
                if not found:
                    raise NoAnswer("bad answer")
                self.rest = data[at + 4 :]
                if found.group(1).startswith("1"):
                    before += at
                    if before > MAX_HEAD_BYTES:
                        raise NoAnswer("bad answer")
                    data = self.rest
                    continue
                headers = {}
                for line in lines[1:]:
                    name, _, value = line.partition(":")
                    headers[name.strip().lower()] = value.strip()
                return int(found.group(1)), headers
            if len(data) > MAX_HEAD_BYTES:
                raise NoAnswer("bad answer")
            piece = self.more()
            if not piece:
                raise NoAnswer("short answer" if data else "reset", unheard=not data)
            self.held = b"x"
            data += piece

    def body(self, status, headers):
        if status in (204, 304):
            return b""
        if headers.get("transfer-encoding", "").lower() == "chunked":
            return self.chunks()
        size = headers.get("content-length")
        if size is not None and not re.match(r"[0-9]{1,18}\Z", size):
            raise NoAnswer("bad answer")
        wanted = None if size is None else int(size)
        if wanted is not None and wanted > MAX_ANSWER_BYTES:
            raise NoAnswer("too large")
        body = bytearray(self.rest)
        while wanted is None or len(body) < wanted:
            if len(body) > MAX_ANSWER_BYTES:
                raise NoAnswer("too large")
            piece = self.more()
            if not piece:
                if wanted is None:
                    break
                raise NoAnswer("short answer")
            body += piece
        return bytes(body if wanted is None else body[:wanted])

    def chunks(self):
        data, body = bytearray(self.rest), bytearray()
        while True:
            at = data.find(b"\r\n")
            while at < 0:
                if len(data) > 1024:
                    raise NoAnswer("bad answer")
                data += self.piece()
                at = data.find(b"\r\n")
            try:
                size = int(bytes(data[:at]).split(b";")[0], 16)
            except ValueError:
                raise NoAnswer("bad answer") from None
            if size < 0 or len(body) + size > MAX_ANSWER_BYTES:
                raise NoAnswer("too large")
            del data[: at + 2]
            while len(data) < size + 2:
                data += self.piece()
            if size == 0:
                return bytes(body)
            body += data[:size]
            del data[: size + 2]

    def piece(self):
        piece = self.more()
        if not piece:
            raise NoAnswer("short answer")
        return piece


def kind_of(error):
    code = error.errno
    if code == errno.ECONNREFUSED:
        return "refused"
    if code in (errno.ENOENT, errno.ENOTDIR):
        return "no socket"
    if code in (errno.ECONNRESET, errno.EPIPE):
        return "reset"
    if code in (errno.EACCES, errno.EPERM):
        return "not allowed"
    if isinstance(error, socket.timeout) or code == errno.EAGAIN:
        return "no answer"
    return text_of(error)


def checked_socket(path, control_dir):
    """Return the path at which to reach the socket that a record names.

    It lies right inside `control_dir`, the folder of the record, and belongs to this user. A
    folder that goes by another path there (one home with two paths) is the same folder; if that
    path does not exist here, the socket of that name in `control_dir` is the one. Raises NoAnswer.
    """
    folder, name = os.path.split(path)
    try:
        own = os.stat(control_dir)
        try:
            if not os.path.samestat(os.stat(folder), own):
                raise NoAnswer(OUTSIDE)
        except (FileNotFoundError, NotADirectoryError):
            path = os.path.join(control_dir, name)
        found = os.lstat(path)
    except OSError as error:
        raise NoAnswer(kind_of(error)) from error
    except ValueError:  # not a path at all: half of a surrogate pair, a NUL
        raise NoAnswer(OUTSIDE) from None
    if not stat.S_ISSOCK(found.st_mode):
        raise NoAnswer(NOT_A_SOCKET)
    if found.st_uid != os.getuid():
        raise NoAnswer(FOREIGN_SOCKET)
    return path
