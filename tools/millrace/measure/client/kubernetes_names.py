# SPDX-License-Identifier: Apache-2.0
"""Names as the API of Kubernetes takes them (RFC 1123), and names of ours as such.

Each refusal is one sentence.
"""

import hashlib
import json
import re
from collections.abc import Sequence

from millrace.system.errors import BadInput
from millrace.system.rule import Check, Rule
from millrace.system.text import printable, shown

_LABEL = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
object_name = Rule(
    Check(
        rf"(?=.{{1,253}}$){_LABEL}(?:\.{_LABEL})*",
        "$0 cannot be the name of a Kubernetes object: use at most 253 of a-z, 0-9, - and ., first and last a letter "
        "or a digit",
    )
)
namespace = Rule(
    Check(
        rf"(?=.{{1,63}}$){_LABEL}",
        "$0 cannot be a Kubernetes namespace: use at most 63 of a-z, 0-9 and -, first and last a letter or a digit",
    )
)


def checked(rule: Rule, text: str) -> str:
    """Return a name that Kubernetes takes. BadInput: it does not take it."""
    try:
        return rule(text)
    except ValueError as error:
        raise BadInput(str(error)) from error


def as_name(text: str) -> str:
    """Return the name of an object that is made of a name of ours; empty where no character of it can be in one.

    Two names of ours never have the same: where characters are lost, eight digits tell them apart.
    """
    name = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    return name if name in ("", text) else unique(name, text)


def unique(name: str, *parts: str) -> str:
    """Return a name that only an object made of these parts has: eight digits of their hash follow it."""
    return f"{name}-{hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:8]}"


def directories(texts: Sequence[str]) -> list[tuple[str, str]]:
    """Return directories of a share, each with a part of a name. BadInput: one is none."""
    named: list[tuple[str, str]] = []
    for text in dict.fromkeys(texts):
        names = text.split("/") if text else []
        if any(name in ("", ".", "..") for name in names) or printable(text) != text or "#" in text:
            raise BadInput(f"{shown(text)} is not a directory of the share: write it like imagenet or sets/imagenet")
        name = as_name(text)
        if not name:
            raise BadInput(f"{shown(text)} has no character for the name of a Kubernetes object: rename the directory")
        named.append((text, name))
    return named
