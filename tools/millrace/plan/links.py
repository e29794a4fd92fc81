# SPDX-License-Identifier: Apache-2.0
"""PCIe links of drives and network cards: their bandwidth, and which run below what they could."""

from collections import Counter

from millrace.inventory.model import Drive, Inventory, Nic, PcieLink
from millrace.plan.constants import BITS, GIGA, MEGABIT, Constants
from millrace.plan.finding import PlanFinding, Severity

GIGATRANSFERS = 1_000_000_000
OLD_ENCODING_UP_TO = 5.0  # GT/s: PCIe 1 and 2 carry 8 bits in 10, later ones 128 in 130


def raw_bytes(link: PcieLink) -> float:
    """Return the bytes/s that a link carries now, headers included."""
    encoding = 8 / 10 if link.speed <= OLD_ENCODING_UP_TO else 128 / 130
    return link.speed * GIGATRANSFERS * encoding * link.width / BITS


def slower(log: Drive, data: list[Drive]) -> bool:
    """Whether a drive is rotating or its link carries less than half: one PCIe generation less is enough for a log."""
    if log.rotational and not any(drive.rotational for drive in data):
        return True
    slowest = min(_bandwidth(drive.link) for drive in data)
    return log.link is not None and 2 * _bandwidth(log.link) < slowest


def audit_links(inventory: Inventory, used: list[Drive], data: list[Drive]) -> list[PlanFinding]:
    """Return findings on links. `used`: all drives of the plan; `data`: those that a stripe waits for together."""
    cards: dict[str, list[Nic]] = {}
    for nic in inventory.nics:
        if nic.pci_address:
            cards.setdefault(nic.pci_address.rpartition(".")[0], []).append(nic)
    return [
        *audit_drive_links(used, data),
        *(finding for card in cards.values() for finding in _card(card)),
    ]


def audit_drive_links(used: list[Drive], data: list[Drive]) -> list[PlanFinding]:
    """Return findings on links of drives, as `audit_links` has them."""
    return [*(finding for drive in used for finding in _drive(drive)), *_unequal(data)]


def _drive(drive: Drive) -> list[PlanFinding]:
    link = drive.link
    if link is None or not _below_maximum(link):
        return []
    limited = _limited_by_slot(link)
    place = f" (slot {drive.slot})" if drive.slot else ""
    return [
        PlanFinding(
            name="link.drive",
            severity=Severity.INFO if limited else Severity.WARN,
            subject=drive.serial,
            what=_words(link, "drive"),
            todo="Use a faster slot, or accept the speed of this one."
            if limited
            else f"Reseat the drive{place}; if that does not help, check the cable and backplane, then the drive.",
        )
    ]


def _unequal(data: list[Drive]) -> list[PlanFinding]:
    links = [(drive, drive.link) for drive in data if drive.link]
    kinds = Counter((link.speed, link.width) for _, link in links)
    if len(kinds) < 2:
        return []
    fastest = max(kinds, key=lambda kind: kind[0] * kind[1])
    slow = sorted(drive.serial for drive, link in links if (link.speed, link.width) != fastest)
    shown = ", ".join(f"{count} at {_rate(*kind)}" for kind, count in sorted(kinds.items(), reverse=True))
    return [
        PlanFinding(
            name="link.unequal",
            severity=Severity.WARN,
            subject="data drives",
            what=f"PCIe links differ: {shown}. Every stripe waits for the slowest.",
            todo=f"Move these drives to slots with the faster link: {', '.join(slow)}.",
        )
    ]


def _card(ports: list[Nic]) -> list[PlanFinding]:
    link, address = ports[0].link, ports[0].pci_address or ""
    if link is None:
        return []
    line = sum(nic.speed or 0 for nic in ports) * MEGABIT / BITS
    payload = raw_bytes(link) * Constants().pcie_payload.value
    short = line > payload
    carries = f"The link carries {payload / GIGA:.1f} GB/s, the ports {line / GIGA:.1f} GB/s."
    if _below_maximum(link):
        limited = _limited_by_slot(link)
        severity = Severity.WARN if short or not limited else Severity.INFO
        what = f"{_words(link, 'network card')}{' ' + carries if short else ''}"
        todo = (
            "Move the card to a faster slot, or accept the speed of this one."
            if limited
            else "Reseat the card; if that does not help, check the riser and the slot's bifurcation setting."
        )
        return [PlanFinding(name="link.nic", severity=severity, subject=address, what=what, todo=todo)]
    if short:
        todo = "Distribute the cables over several cards."
        what = f"Even at full speed the card's link is slower than its ports. {carries}"
        return [PlanFinding(name="link.nic", severity=Severity.WARN, subject=address, what=what, todo=todo)]
    return []


def _bandwidth(link: PcieLink | None) -> float:
    # What the link can do, not what it does: the plan must not depend on a power-saving state.
    return link.max_speed * link.max_width if link else 0.0


def _below_maximum(link: PcieLink) -> bool:
    return link.speed < link.max_speed or link.width < link.max_width


def _limited_by_slot(link: PcieLink) -> bool:
    """The link is as good as the slot allows, and the slot is less than the device."""
    speed = link.max_speed if link.slot_speed is None else min(link.max_speed, link.slot_speed)
    width = link.max_width if link.slot_width is None else min(link.max_width, link.slot_width)
    return link.speed >= speed and link.width >= width


def _words(link: PcieLink, device: str) -> str:
    now, best = _rate(link.speed, link.width), _rate(link.max_speed, link.max_width)
    slot = " The slot supports no more." if _limited_by_slot(link) else ""
    return f"The link runs at {now}; the {device} supports {best}.{slot}"


def _rate(speed: float, width: int) -> str:
    return f"{speed:g} GT/s ×{width}"
