# SPDX-License-Identifier: Apache-2.0
"""What is on the drives of the server that the tests stand in for the machine. It outlives a power cut."""

from dataclasses import dataclass, field

Content = dict[str, str]


@dataclass
class Disk:
    """One drive. `gpt_ids` are the GUIDs of a table, whole or torn; `table` is there once it is whole.

    `inside` is what the partitions hold, by their GUIDs in the order of the table; `whole` what lies on the drive
    itself; `zeroed` which of its ends, head and tail, have been written with zeros since it had a table. `sizes` are
    those of the partitions for the kernel, in bytes, `made` those with which md began.
    """

    serial: str
    size: int
    block: int = 512
    wwid: str = ""
    gpt_ids: set[str] = field(default_factory=set)
    table: dict[str, object] | None = None
    inside: dict[str, Content] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    whole: Content = field(default_factory=dict)
    foreign: str | None = None
    hidden: str | None = None
    bay: str | None = None
    critical_warning: int | None = None
    zeroed: set[str] = field(default_factory=set)
    placed: dict[str, int] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    made: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.wwid = self.wwid or f"eui.{self.serial}"

    @property
    def blank(self) -> bool:
        return not self.gpt_ids and self.foreign is None

    def starts(self) -> dict[str, int]:
        """Where each partition begins, in bytes, also once the table is gone."""
        return {partuuid: start for partuuid, start in self.placed.items() if partuuid in self.inside}


@dataclass
class Running:
    """An array that the kernel has started. `members` are devices as mdadm was given them; `state` is md's own word.

    `faulty` are those of them that md has given up. `kept` is the slot of a mirror's last member, whose drive is gone.
    """

    uuid: str
    level: str
    devices: int
    name: str
    members: list[str]
    state: str = "active"
    in_use: bool = False
    faulty: set[str] = field(default_factory=set)
    kept: int | None = None
