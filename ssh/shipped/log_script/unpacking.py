"""The real sizes of members of a log, counted piece by piece: the sizes that it states may lie."""

import importlib
import zipfile
import zlib

from ssh.shipped.log_script.texts import Refused

PIECE_BYTES = 1024 * 1024
ZSTANDARD = 93  # the method with which newer versions of Inspect write a log
MAX_WINDOW_BYTES = 128 * 1024 * 1024


def unpacked_size(file, member, limit):
    """Return the real size of a member, counted up to just above `limit`.

    Raises Refused for a method that Inspect does not write: of some, a few kilobytes unpack at
    once to gigabytes. A member that is broken has the size up to there: Inspect says what is wrong.
    """
    if member.compress_type == zipfile.ZIP_STORED:
        return member.compress_size
    if member.compress_type not in METHODS:
        raise Refused("it is packed with the method %d, which Inspect does not write"
                      % member.compress_type)  # fmt: skip
    file.seek(member.header_offset + 26)
    names = file.read(4)
    file.seek(int.from_bytes(names[:2], "little") + int.from_bytes(names[2:], "little"), 1)
    size = 0
    for length in METHODS[member.compress_type](Packed(file, member.compress_size)):
        size += length
        if size > limit:
            break
    return size


class Packed:
    """The packed bytes of a member, as a file."""

    def __init__(self, file, left):
        self.file = file
        self.left = left

    def read(self, size=-1):
        wanted = self.left if size < 0 else min(size, self.left)
        data = self.file.read(min(wanted, PIECE_BYTES))
        self.left -= len(data)
        return data


def deflated(packed):
    """Yield the sizes of the pieces to which deflated bytes unpack."""
    unpacker = zlib.decompressobj(-15)
    while not unpacker.eof:
        piece = unpacker.unconsumed_tail or packed.read()
        if not piece:
            return
        try:
            yield len(unpacker.decompress(piece, PIECE_BYTES))
        except zlib.error:
            return


def zstandard_of(packed):
    """Yield the sizes of the pieces to which bytes of zstandard unpack."""
    try:
        zstandard = importlib.import_module("zstandard")
    except ImportError:
        yield from zstandard_of_python(packed)
        return
    unpacker = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW_BYTES)
    with unpacker.stream_reader(packed, read_across_frames=True, closefd=False) as reader:
        while True:
            try:
                length = len(reader.read(PIECE_BYTES))
            except zstandard.ZstdError:
                return
            if not length:
                return
            yield length


def zstandard_of_python(packed):
    """Do the same with Python 3.14 or newer, which can do it itself."""
    try:
        zstd = importlib.import_module("compression.zstd")
    except ImportError:
        raise Refused("it is packed with zstandard, which this Python can't unpack") from None
    unpacker = zstd.ZstdDecompressor()
    while True:
        if unpacker.eof:
            rest = unpacker.unused_data
            unpacker = zstd.ZstdDecompressor()
        else:
            rest = b""
        piece = rest or (packed.read() if unpacker.needs_input else b"")
        if not piece and unpacker.needs_input:
            return
        try:
            yield len(unpacker.decompress(piece, PIECE_BYTES))
        except zstd.ZstdError:
            return


METHODS = {zipfile.ZIP_DEFLATED: deflated, ZSTANDARD: zstandard_of}
