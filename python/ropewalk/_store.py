"""Where a sweep keeps what is finished: ``DIR/TABLE/CHUNK.parquet``.

Each file is written under a temporary name and renamed: the tables, then how long each is (``.sizes``), and ``runs`` last. A chunk
is whole if all of its files are there and as long as that says. Whatever is killed, what is not whole is made again.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from pathlib import Path
from typing import Iterator

from . import _core

PART = ".part"
SIZES = ".sizes"
# Files that a sweep writes; others in the directory are somebody else's.
OURS = re.compile(r"[0-9a-f]{16}\.parquet(\.part)?")


class SweepError(RuntimeError):
    """A sweep cannot begin, or cannot keep what it made."""


class Memory:
    """Keeps chunks in this process."""

    def __init__(self) -> None:
        self._chunks: list[dict[str, bytes]] = []

    def finished(self) -> set[str]:
        return set()

    def keep(self, name: str, files: dict[str, bytes]) -> None:
        self._chunks.append(files)

    def files(self, table: str) -> Iterator[bytes]:
        return (files[table] for files in self._chunks if table in files)

    def close(self) -> None:
        pass


class Directory:
    """Keeps chunks in a directory, in which one sweep writes at a time."""

    def __init__(self, path: Path) -> None:
        # At once: tables are read later, and the current directory may be another by then.
        path = self.path = path.absolute()
        try:
            (path / "runs").mkdir(parents=True, exist_ok=True)
            (path / SIZES).mkdir(exist_ok=True)
            self._lock = open(path / ".lock", "w")
        except OSError as error:
            raise SweepError(f"results cannot be written to {path}: {error.strerror}; choose another out") from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._lock.close()
            raise SweepError(f"another sweep writes to {path}: let it end, or choose another out") from error
        self._clear()

    def _clear(self) -> None:
        """Takes away what a killed sweep or a failing disk left half: temporary files, and all of chunks that are not whole."""
        whole = {file.name for file in (self.path / "runs").glob("*.parquet") if self._is_whole(file.stem)}
        for table in _core.TABLES:
            for file in (self.path / table).glob("*.parquet*"):
                if OURS.fullmatch(file.name) and file.name not in whole:
                    file.unlink()

    def _is_whole(self, chunk: str) -> bool:
        try:
            sizes = json.loads((self.path / SIZES / f"{chunk}.json").read_text())
            return all((self.path / table / f"{chunk}.parquet").stat().st_size == size for table, size in sizes.items())
        except (OSError, ValueError):
            return False

    def finished(self) -> set[str]:
        """The names of the runs that are there."""
        names: set[str] = set()
        for file in sorted((self.path / "runs").glob("*.parquet")):
            try:
                names.update(_core.run_names(file.read_bytes()))
            except ValueError as error:
                raise SweepError(f"{file}: {error}; delete it, and its runs are made again") from error
        return names

    def keep(self, name: str, files: dict[str, bytes]) -> None:
        sizes = json.dumps({table: len(data) for table, data in files.items()}).encode()
        last = [(self.path / SIZES / f"{name}.json", sizes), (self.path / "runs" / f"{name}.parquet", files["runs"])]
        first = [(self.path / table / f"{name}.parquet", data) for table, data in files.items() if table != "runs"]
        for file, data in first + last:
            try:
                file.parent.mkdir(exist_ok=True)
                write(file, data)
            except OSError as error:
                raise SweepError(
                    f"{file} cannot be written: {error.strerror}; what is finished is kept, "
                    "and the same sweep goes on from there"
                ) from error

    def files(self, table: str) -> Iterator[bytes]:
        return (file.read_bytes() for file in sorted((self.path / table).glob("*.parquet")))

    def close(self) -> None:
        self._lock.close()


def write(file: Path, data: bytes) -> None:
    """Writes a file as a whole or not at all."""
    beside = file.with_name(file.name + PART)
    try:
        with open(beside, "wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        os.rename(beside, file)
        # The name too, before the next file: what says that a chunk is whole must not be there
        # first.
        directory = os.open(file.parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
    except OSError:
        beside.unlink(missing_ok=True)
        raise
