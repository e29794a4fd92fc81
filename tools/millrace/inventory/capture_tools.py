# SPDX-License-Identifier: Apache-2.0
"""A capture keeps of the output of a tool what the inventory reads, and nothing else."""

import json
import re

from millrace.inventory.anonymise import Anonymiser
from millrace.system.run import Result

NVME_KEYS = {
    "id-ns": ("flbas", "dlfeat", "lbafs", "eui64", "nguid"),
    "id-ctrl": ("vwc",),
    "smart-log": (
        "critical_warning",
        "temperature",
        "percent_used",
        "percentage_used",
        "avail_spare",
        "available_spare",
        "spare_thresh",
        "available_spare_threshold",
    ),
}
MDADM_KEYS = ("Version", "Raid Level", "Name", "MBR Magic")
BLKID_KEYS = ("PTTYPE", "TYPE", "VERSION", "LABEL", "UUID")


def reduce(argv: list[str], result: Result, names: Anonymiser) -> Result:
    """Return what the capture keeps of one call of a tool."""
    match argv[0]:
        case "nvme":
            out = _nvme(NVME_KEYS.get(argv[1], ()), result.out, names)
        case "ethtool":
            # Versions of firmware look like IP addresses.
            return Result(result.status, _lines(result.out, r"firmware-version:.*"), names.text(result.err))
        case "blkid":
            out = _blkid(result.out, names)
        case "wipefs":
            out = _wipefs(result.out)
        case "mdadm":
            out = _mdadm(result.out, names)
        case _:
            out = ""
    return Result(result.status, out, names.text(result.err))


def _nvme(keys: tuple[str, ...], out: str, names: Anonymiser) -> str:
    said = _document(out)
    # Releases of nvme-cli differ in the case of some keys.
    kept = {key.lower(): value for key, value in said.items() if key.lower() in keys}
    for key in ("eui64", "nguid"):
        identifier = kept.get(key)
        if isinstance(identifier, str):
            kept[key] = names.identifier(identifier)
    return json.dumps(kept) if said else ""


def _blkid(out: str, names: Anonymiser) -> str:
    kept = []
    for key, _, value in (line.partition("=") for line in out.splitlines()):
        if key in BLKID_KEYS:
            kept.append(f"{key}={names.label(value) if key == 'LABEL' else names.text(value)}\n")
    return "".join(kept)


def _wipefs(out: str) -> str:
    said = _document(out)
    signatures = said.get("signatures", [])
    if not isinstance(signatures, list):
        return ""
    kept = [{key: one.get(key) for key in ("type", "offset")} for one in signatures if isinstance(one, dict)]
    return json.dumps({"signatures": kept}) if said else ""


def _mdadm(out: str, names: Anonymiser) -> str:
    kept = []
    for key, _, value in (line.partition(" : ") for line in out.splitlines()):
        if key.strip() in MDADM_KEYS:
            words = value.split()[:1] if key.strip() == "Name" else [value.strip()]
            kept.append(f"{key} : {''.join(map(names.label, words)) if key.strip() == 'Name' else words[0]}\n")
    # An answer without any of these still says that something is there.
    return "".join(kept) or ("RAID metadata\n" if out.strip() else "")


def _document(out: str) -> dict[str, object]:
    try:
        said = json.loads(out)
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}


def _lines(out: str, pattern: str) -> str:
    return "".join(f"{line}\n" for line in out.splitlines() if re.fullmatch(pattern, line))
