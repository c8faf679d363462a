"""Reading YAML and JSON files of unknown origin: size, encoding and syntax are checked, and lines are kept for messages."""

from __future__ import annotations

import difflib
from pathlib import Path

from arksim_ci.config.document import Document, shown
from arksim_ci.config.errors import ConfigError, Problem

MAX_CONFIG_BYTES = 10_000_000
"""A configuration larger than this is a mistake."""
MAX_DATA_BYTES = 500_000_000
"""Scenario and simulation files may be large, but not without end."""

_FOREIGN_ENCODINGS = (
    (b"\xff\xfe\x00\x00", "UTF-32"),
    (b"\x00\x00\xfe\xff", "UTF-32"),
    (b"\xff\xfe", "UTF-16"),
    (b"\xfe\xff", "UTF-16"),
)


def read_yaml(path: Path) -> Document:
    """Read one YAML document.

    Raises:
        ConfigError: the file is missing, unreadable, too large, not UTF-8, or not plain YAML.
    """
    return parse_yaml(read_text(path, MAX_CONFIG_BYTES), shown(path))


def parse_yaml(text: str, source: str) -> Document:
    """Read YAML that is at hand as text, for example an input of the action. `source` is its name in messages.

    Raises:
        ConfigError: it is not plain YAML.
    """
    from arksim_ci.config.yaml_text import load  # noqa: PLC0415  (yaml is needed only where YAML is read)

    value, lines = load(text, source)
    return Document(source=source, value=value, lines=lambda: lines)


def read_json(path: Path, max_bytes: int = MAX_CONFIG_BYTES) -> Document:
    """Read one JSON document of at most `max_bytes`.

    Raises:
        ConfigError: the file is missing, unreadable, too large, not UTF-8, or not JSON.
    """
    from arksim_ci.config.json_text import load  # noqa: PLC0415  (needed only where JSON is read)

    source = shown(path)
    value, lines = load(read_text(path, max_bytes), source)
    return Document(source=source, value=value, lines=lines)


def read_text(path: Path, max_bytes: int) -> str:
    """Read a UTF-8 file of at most `max_bytes`; a byte order mark is skipped.

    Raises:
        ConfigError: there is no such file, it can't be read, is too large, or is not UTF-8 text.
    """
    source = shown(path)
    try:
        with path.open("rb") as file:
            data = file.read(max_bytes + 1)
    except FileNotFoundError as error:
        raise ConfigError(Problem(f"there is no such file{similar_file(path)}", source)) from error
    except IsADirectoryError as error:
        raise ConfigError(Problem("this is a folder, a file is needed", source)) from error
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or "the path is not usable"
        raise ConfigError(Problem(f"can't be read: {reason}", source)) from error
    if len(data) > max_bytes:
        raise ConfigError(Problem(f"is larger than {max_bytes // 1_000_000} MB", source))
    for mark, encoding in _FOREIGN_ENCODINGS:
        if data.startswith(mark):
            raise ConfigError(Problem(f"is encoded in {encoding}; save it as UTF-8", source))
    if b"\x00" in data:
        raise ConfigError(Problem("is a binary file, or text in another encoding than UTF-8", source))
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(Problem("is not UTF-8 text; save it as UTF-8", source, line)) from error


def similar_file(path: Path) -> str:
    """The second half of a message about a file that is not there: the nearest name beside it."""
    try:
        names = [entry.name for entry in path.parent.iterdir() if entry.is_file()]
    except (OSError, ValueError):
        return "; its folder does not exist either"
    near = difflib.get_close_matches(path.name, names, n=1)
    return f'; did you mean "{near[0]}"?' if near else ""
