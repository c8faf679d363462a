"""Secrets in source code: what looks like one is replaced before a line is sent to anybody."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

HIDDEN: Final = "***"
"""What stands in place of a secret."""

_NAME: Final = (
    r"(?:passwords?|passwd|passphrase|pwd|secrets?|tokens?|credentials?|auth|authorization|cookie"
    r"|(?:api|access|secret|private|encryption|signing|master|account|shared)[-_. ]?key)"
)
_BEFORE_VALUE: Final = rf"(?i:{_NAME})[\"'`\])]*\s*(?::\s*[\w\[\]|. ]{{1,40}}=|=>|:=|[!=]?={{1,2}}|:)\s*\(?\s*"
_STRING: Final = (
    r"(?:[rRbBuUfF]{0,2})(?:\"\"\"(?P<v1>.+?)\"\"\"|'''(?P<v2>.+?)'''"
    r"|\"(?P<v3>(?:\\.|[^\"\\\n])+)\"|'(?P<v4>(?:\\.|[^'\\\n])+)'|`(?P<v5>(?:\\.|[^`\\])+)`)"
)
_PATTERNS: Final = tuple(
    re.compile(pattern, re.DOTALL)
    for pattern in (
        r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----(?P<value>.*?)(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\Z)",
        r"(?P<value>\b(?:sk|pk|rk)[-_](?=[A-Za-z_-]*\d)[A-Za-z0-9_-]{16,})",  # OpenAI, Anthropic, Stripe
        r"(?P<value>\b(?:gh[opsur]_|github_pat_|glpat-|hf_|npm_|pypi-)[A-Za-z0-9_-]{16,})",
        r"(?P<value>\b(?:AKIA|ASIA)[A-Z0-9]{16}\b)",  # AWS
        r"(?P<value>\bAIza[A-Za-z0-9_-]{30,})",  # Google
        r"(?P<value>\bxox[a-z]-[A-Za-z0-9-]{10,})",  # Slack
        r"(?P<value>\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?)",  # JSON web token
        r"(?i:\b(?:bearer|basic)\s+)(?P<value>[A-Za-z0-9._~+/=-]{12,})",
        r"://(?P<value>[^\s/:@\"'{}<>$]+:[^\s/@\"'{}<>$]+)@",  # user and password in an address
        r"[\"'](?P<value>(?=[^\"'\n]*\d)(?=[^\"'\n]*[A-Za-z])[A-Za-z0-9+/=_-]{32,})[\"']",  # long and random
        rf"{_BEFORE_VALUE}{_STRING}",
        rf"[\"'](?:\w+[-_.])?(?i:{_NAME})[\"']\s*,\s*{_STRING}",  # getenv("API_KEY", "default")
    )
)
_UNQUOTED: Final = re.compile(rf"(?i:{_NAME})[ \t]*[:=][ \t]*(?P<value>[^\s\"'#$&*|>{{<\[][^\s#]*)")
_SETTINGS: Final = (
    ".yaml",
    ".yml",
    ".ini",
    ".cfg",
    ".conf",
    ".env",
    ".properties",
    ".sh",
    ".bash",
    ".tf",
    "dockerfile",
)
"""Files in which a value stands without quotation marks; in code, `token = request.token` is no secret."""


def without_secrets(lines: Sequence[str], file: str, redact: Callable[[str], str]) -> tuple[str, ...]:
    """The lines of a file with everything that looks like a secret replaced; their number stays.

    Args:
        lines: without line ends.
        file: its name; settings may hold values without quotation marks.
        redact: replaces the secrets that the run knows, in one line.
    """
    text = "\n".join(map(redact, lines))
    patterns = [*_PATTERNS, _UNQUOTED] if file.lower().endswith(_SETTINGS) else list(_PATTERNS)
    for pattern in patterns:
        text = pattern.sub(_replaced, text)
    return tuple(text.split("\n"))


def _replaced(match: re.Match[str]) -> str:
    """The match with its secret replaced, line by line; a placeholder stays."""
    name = next(name for name, value in match.groupdict().items() if value is not None)
    value = match[name]
    if re.fullmatch(r"\$\{?\w+\}?|\$?\{\{?[^{}]*\}?\}|<[^<>]*>|\*+|\s*", value):
        return match[0]
    start, end = match.start(name) - match.start(), match.end(name) - match.start()
    hidden = "\n".join(HIDDEN if part.strip() else part for part in value.split("\n"))
    return match[0][:start] + hidden + match[0][end:]
