# SPDX-License-Identifier: Apache-2.0
"""One tar with everything for a client: the recipe to read, the files where they belong, and the check."""

import io
import tarfile

from millrace.measure.client import text
from millrace.measure.client.model import ClientFile, Recipe
from millrace_client.pack import check


def files(recipe: Recipe) -> list[ClientFile]:
    """Return the texts of the kit; those for the client's /etc are under `root/`, to be copied."""
    return [
        ClientFile(path="README", mode="0644", text="\n".join(text.lines(recipe)) + "\n"),
        ClientFile(path="recipe.json", mode="0644", text=recipe.model_dump_json(indent=2) + "\n"),
        ClientFile(path="fstab", mode="0644", text="\n".join(recipe.fstab) + "\n"),
        *(one.model_copy(update={"path": f"root{one.path}"}) for one in [*recipe.files, *recipe.units]),
    ]


def tar(recipe: Recipe) -> bytes:
    """Return the kit; the same recipe gives the same bytes."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        _add(archive, f"millrace-{recipe.share}/check.pyz", 0o755, check())
        for file in files(recipe):
            _add(archive, f"millrace-{recipe.share}/{file.path}", int(file.mode, 8), file.text.encode())
    return buffer.getvalue()


def _add(archive: tarfile.TarFile, path: str, mode: int, data: bytes) -> None:
    member = tarfile.TarInfo(path)
    member.size, member.mode = len(data), mode
    archive.addfile(member, io.BytesIO(data))
