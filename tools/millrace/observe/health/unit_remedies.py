# SPDX-License-Identifier: Apache-2.0
"""What to do about a unit of Millrace that failed. A unit of the distribution is started again."""

_AGAIN = "Mend this reason, then: systemctl restart {unit}"
_JOB = "millrace job list shows its result; forget the failure: systemctl reset-failed {unit}"
_DRIVES = "millrace drive list; then: systemctl restart {unit}"

REMEDIES = {
    "admin": "Set the password of the administrator: passwd admin",
    "adopt": "millrace pool find, then: millrace pool adopt",
    "alert": "millrace alert test; then: systemctl restart {unit}",
    "assemble": "millrace pool show; put missing drives back in, then: systemctl restart {unit}",
    "backend": "millrace backend list; then: systemctl restart {unit}",
    "backend-release": _AGAIN,
    "boot-check": "millrace update status; the version before: millrace update rollback",
    "certificate": "millrace certificate show; then: systemctl restart {unit}",
    "checker": _AGAIN,
    "child-quota": "millrace share list; then: systemctl restart {unit}",
    "confine": "Services run without their AppArmor profiles: restart the server; it keeps serving",
    "documents": "millrace update status; then restart the server: systemctl reboot",
    "drive": _DRIVES,
    "failures": _AGAIN,
    "find": "millrace pool find",
    "health": _AGAIN,
    "health-stopped": _AGAIN,
    "heartbeat": _AGAIN,
    "inventory": "millrace inventory shows the drive that does not respond; then: systemctl restart {unit}",
    "journal": "millrace journal show; then: systemctl restart {unit}",
    "keep": "millrace keep now",
    "lock-records": "Mend this reason: NFS starts by itself then",
    "members": _AGAIN,
    "metrics": "millrace metrics; then: systemctl restart {unit}",
    "metrics-collect": _AGAIN,
    "metrics-collector": _AGAIN,
    "node-exporter": _AGAIN,
    "nvme-hostid": _AGAIN,
    "plan": "millrace plan",
    "pool": "millrace pool verify; then: systemctl start millrace-serving.target",
    "provision": "millrace provision goes on where it stopped",
    "readd": _DRIVES,
    "pool-change": "millrace pool show; go on: millrace pool destroy, or millrace pool revive",
    "share": "millrace share verify; then: systemctl restart {unit}",
    "smart": _DRIVES,
    "smb-direct": "millrace share list; then: systemctl restart {unit}",
    "trial": "millrace update status",
    "tune": "millrace tune --diff; then: systemctl restart {unit}",
    "unclean": "millrace pool unclean; then: systemctl restart {unit}",
    "unreadable": _AGAIN,
    "update-fetch": "millrace update check",
    "users": "millrace user list; then: systemctl restart {unit}",
    "volumes": "millrace volume list; then: systemctl restart {unit}",
    **dict.fromkeys(
        (
            *("bench", "copy", "drive-test", "erase", "permissions", "reflink", "rescue", "reset"),
            *("scrub", "scrub-files", "trim", "tuner", "update", "update-download"),
        ),
        _JOB,
    ),
    "xfs-scrub": "millrace pool scrub status; then: systemctl restart {unit}",
    # templates
    "again": _AGAIN,
    "cleanup": _AGAIN,
    "event": _AGAIN,
    "firewall": "nft -c -f /etc/nftables.conf shows a rule that does not load; then: systemctl restart {unit}",
    "install": _AGAIN,
    "locate": "systemctl reset-failed {unit}",
    "module": "modprobe -v NAME shows why the kernel refuses the module; then: systemctl restart {unit}",
    "replace": _DRIVES,
}
"""By the name of a service, without `millrace-`; of a template without its instance."""


def remedy(unit: str) -> str:
    """Return what to do about a failed unit."""
    name = unit.removeprefix("millrace-").removesuffix(".service").partition("@")[0]
    own = REMEDIES.get(name) if unit.startswith("millrace-") else None
    return (own or "Mend the reason in the journal (journalctl -b -u {unit}), then: systemctl restart {unit}").format(
        unit=unit
    )
