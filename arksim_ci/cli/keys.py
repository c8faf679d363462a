"""The config keys, as the help of a command lists them."""

from __future__ import annotations

import textwrap

from arksim_ci.config.help import config_keys_help

_WIDTH = 100


def keys_text() -> str:
    """Every config key with its type, default and meaning."""
    lines = [
        "config keys (each may be given as --key value, --key=value, --key-name; nested keys take dots, lists take commas):"
    ]
    for key in config_keys_help():
        default = f" (default: {key.default})" if key.default else ""
        lines.append(f"  --{key.key}  {key.type}{default}")
        lines += textwrap.wrap(key.description, _WIDTH, initial_indent="      ", subsequent_indent="      ")
    return "\n".join(lines) + "\n"
