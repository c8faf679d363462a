"""Point action.yml at a published image: `point_at_image.py action.yml REGISTRY/NAME:VERSION@sha256:DIGEST`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

BUILT_HERE = "  image: Dockerfile\n"
PUBLISHED = re.compile(r"ghcr\.io/[a-z0-9._/-]+:\d+\.\d+\.\d+@sha256:[0-9a-f]{64}")


def pointed_at(text: str, image: str) -> str:
    """The text of action.yml with the published image instead of the Dockerfile.

    Raises:
        ValueError: `image` is no published image with version and digest, or the text doesn't name the Dockerfile once.
    """
    if not PUBLISHED.fullmatch(image):
        raise ValueError(f"{image} is no image on ghcr.io with a version and a digest")
    if text.count(BUILT_HERE) != 1:
        raise ValueError(f"action.yml does not hold the line {BUILT_HERE.strip()!r} exactly once")
    return text.replace(BUILT_HERE, f'  image: "docker://{image}"\n')


if __name__ == "__main__":
    file, image = Path(sys.argv[1]), sys.argv[2]
    file.write_text(pointed_at(file.read_text(encoding="utf-8"), image), encoding="utf-8")
