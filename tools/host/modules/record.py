# SPDX-License-Identifier: Apache-2.0
"""The record of which patches the modules have, by which a server knows whether the kernel has loaded these."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from host.modules.sets import SETS, ModuleSet
from millrace.inventory.patched import PatchedModule, PatchedModules, build_id
from millrace.system.errors import Failed

PLACE = Path("usr/lib/millrace/modules.json")


def record(target: Path, debian: Mapping[str, bytes], found: Sequence[ModuleSet] = SETS) -> str:
    """Return the text of the record for the rebuilt modules below `target`; `debian` are Debian's own, by path.

    Failed: a module has no build ID.
    """
    modules = [_patched(one, path, target, debian) for one in found if one.patches for path in one.modules]
    return PatchedModules(modules=modules).model_dump_json(indent=2) + "\n"


def _patched(one: ModuleSet, path: str, target: Path, debian: Mapping[str, bytes]) -> PatchedModule:
    own = build_id((target / f"{path}.ko").read_bytes())
    if own is None:
        raise Failed(f"{path}.ko has no build ID, by which a server knows its patches; report this as a bug.")
    return PatchedModule(
        name=path.rpartition("/")[2],
        build_id=own,
        patches=[name.partition("-")[0] for name in one.patches],
        debian=build_id(debian.get(path, b"")),
    )
