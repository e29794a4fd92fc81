# SPDX-License-Identifier: Apache-2.0
"""An exported configuration that somebody else may have written, and the desired state of a server."""

from importlib import import_module

from millrace.cli.program import CARRIED
from millrace.serve.config.model import Config
from millrace.serve.revision import portable
from millrace.system.documents import read_model
from millrace.system.errors import MillraceError
from tests.fuzz import scratch

for module in CARRIED["config"]:
    import_module(module)


def check(data: bytes) -> None:
    """Read the input as each of them."""
    path = scratch.file(data)
    try:
        portable.read(path)
    except MillraceError:
        read_model(path, Config)
