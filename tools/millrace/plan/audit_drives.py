# SPDX-License-Identifier: Apache-2.0
"""The drives themselves: health, wear, write caches, models and firmware."""

from collections import Counter

from millrace.inventory.model import Drive
from millrace.plan.finding import Finding, Severity

WORN = 90  # percent of the rated endurance
# NVMe base specification, SMART / health information, critical warning.
HOT_BIT, BACKUP_BIT = 1 << 1, 1 << 4
FATAL = {
    1 << 0: "it has little spare capacity left",
    1 << 2: "errors have made it unreliable",
    1 << 3: "it is read-only now",
    1 << 5: "its persistent memory region is read-only",
}


def audit_drives(used: list[Drive], data: list[Drive]) -> list[Finding]:
    """`used`: all drives of the plan; `data`: those that hold the data."""
    findings = [finding for drive in used for finding in (*_health(drive), *_wear(drive), *_cache(drive))]
    return [*findings, *_models(data), *_firmware(used)]


def _health(drive: Drive) -> list[Finding]:
    warning = drive.critical_warning or 0
    found = []
    if warning & HOT_BIT:
        now = "" if drive.temperature is None else f" ({drive.temperature} °C)"
        found.append(
            _about(
                drive,
                "heat.drive",
                Severity.WARN,
                f"The drive is outside its temperature range{now} and slows itself down.",
                "Check the fans, blank covers in empty bays and the temperature of the room.",
            )
        )
    if warning & BACKUP_BIT:
        found.append(
            _about(
                drive,
                "cache.protection",
                Severity.FAIL,
                "The power-loss protection of the drive has failed: a power cut may lose what it has acknowledged.",
                "Replace the drive.",
            )
        )
    said = [words for bit, words in FATAL.items() if warning & bit]
    if said:
        found.append(
            _about(drive, "drive.failing", Severity.FAIL, f"The drive warns: {', '.join(said)}.", "Replace the drive.")
        )
    return found


def _wear(drive: Drive) -> list[Finding]:
    if drive.wear is None or drive.wear < WORN:
        return []
    what = f"{drive.wear} % of the drive's rated endurance is used up."
    return [_about(drive, "drive.worn", Severity.WARN, what, "Plan its replacement.")]


def _cache(drive: Drive) -> list[Finding]:
    """A drive with protection usually says that it has no volatile cache; one that has may be protected."""
    if not drive.volatile_write_cache:
        return []
    what = (
        "The drive has a volatile write cache: it probably has no power-loss protection, and every flush waits for its "
        "flash."
    )
    todo = "Look it up in the data sheet; without protection sync writes are slow, most of all on the log's drives."
    return [_about(drive, "cache.volatile", Severity.INFO, what, todo)]


def _models(data: list[Drive]) -> list[Finding]:
    models = Counter(drive.model for drive in data)
    if len(models) < 2:
        return []
    what = f"They are of {len(models)} models: {_counted(models)}."
    return [
        Finding(
            name="drives.models",
            severity=Severity.INFO,
            subject="data drives",
            what=what,
            todo="Expect the speed of the slowest; use one model where you can.",
        )
    ]


def _firmware(used: list[Drive]) -> list[Finding]:
    found = []
    for model in sorted({drive.model for drive in used}):
        firmware = Counter(drive.firmware for drive in used if drive.model == model and drive.firmware)
        if len(firmware) > 1:
            rare = min(firmware.items(), key=lambda pair: (pair[1], pair[0]))[0]
            serials = sorted(drive.serial for drive in used if (drive.model, drive.firmware) == (model, rare))
            found.append(
                Finding(
                    name="drives.firmware",
                    severity=Severity.INFO,
                    subject=f"drives of model {model}",
                    what=f"They run different firmware: {_counted(firmware)}.",
                    todo=f"Bring all to the vendor's current release; {rare} is on {', '.join(serials)}.",
                )
            )
    return found


def _counted(counts: Counter[str]) -> str:
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return ", ".join(f"{count} x {name or 'unnamed'}" for name, count in ordered)


def _about(drive: Drive, name: str, severity: Severity, what: str, todo: str) -> Finding:
    return Finding(name=name, severity=severity, subject=drive.serial, what=what, todo=todo)
