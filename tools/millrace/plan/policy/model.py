# SPDX-License-Identifier: Apache-2.0
"""The policy: what the owner of the server decides; everything else is computed.

A key that is absent leaves the decision to the planner. Values that no server could use are refused here; whether this
server can use them is verified where the decision is made (see millrace.plan.override).
"""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, ConfigDict, Field, field_validator, model_validator

from millrace.plan.policy.window import checked_window
from millrace.system import names
from millrace.system.documents import Contract
from millrace.system.text import shown

MOUNT_OPTION = re.compile(r"[a-z0-9_]+(=[A-Za-z0-9_./:-]+)?")
CA_FILE = re.compile(r"(/[A-Za-z0-9_][A-Za-z0-9._-]*)+")
# A client writes what it likes into the pool: a setuid program or a device node of its making must gain nothing here.
SAFE_MOUNT_OPTIONS = ("nosuid", "nodev", "noexec")
MOUNT_OPTIONS = (*SAFE_MOUNT_OPTIONS, "noatime", "logbsize=256k", "largeio", "prjquota")
UNSAFE_MOUNT_OPTIONS = {"suid", "dev", "exec", "defaults"}
# These follow from the layout, or would make a pool that serves nothing.
OWN_MOUNT_OPTIONS = {"logdev", "norecovery", "ro", "rtdev", "sunit", "swidth"}
LEVELS_OF = {"single": {"raid1", "raid5", "raid50"}, "double": {"raid6", "raid60"}}
NESTED = {"raid50", "raid60"}
DEVICE = re.compile(r"/dev/(disk/by-id/)?[A-Za-z0-9][A-Za-z0-9._:+-]*")
# What the kernel gives the next disk that it finds: another disk has it after a restart.
KERNEL_NAME = re.compile(r"/dev/(nvme|sd|vd|xvd|hd|dm-|md|loop)\w*")


class Section(Contract):
    """One table of the file. A number in quotes or a yes where a number belongs is a mistake, not a value."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def _power_of_two(value: int) -> int:
    if value & (value - 1):
        raise ValueError("must be a power of two")
    return value


def _blocks(value: int) -> int:
    if value % 4096:
        raise ValueError("must be a multiple of 4096")
    return value


def _pages(value: int) -> int:
    if value % 4:
        raise ValueError("must be a multiple of 4")
    return value


class NfsPolicy(Section):
    """`networks` in CIDR form: the clients that NFS is exported to. `privileged_ports`: only ports below 1024.

    `copy_from`: addresses of the servers that this server may copy files from when a client asks it to.
    """

    networks: list[str] = Field(default_factory=list)
    privileged_ports: bool = True
    copy_from: list[str] = Field(default_factory=list)

    @field_validator("networks")
    @classmethod
    def networks_are_cidr(cls, networks: list[str]) -> list[str]:
        """Return one spelling for one network, so that the same policy gives the same plan.

        ValueError: one is no network.
        """
        return [names.network(network) for network in networks]

    @field_validator("copy_from")
    @classmethod
    def servers_are_addresses(cls, servers: list[str]) -> list[str]:
        """Return one spelling for one address, each once. ValueError: one is no address of another server."""
        return sorted({names.server_address(server) for server in servers})


class DrivesPolicy(Section):
    """`exclude`: serials of drives that stay out of the pool, whatever is on them.

    `replace`: whether a blank drive that is put in the bay of a missing member is used in its place without a question.
    """

    exclude: list[Annotated[str, Field(min_length=1)]] = Field(default_factory=list)
    replace: Literal["ask", "same-bay"] = "ask"

    @field_validator("exclude")
    @classmethod
    def exclude_is_a_set(cls, serials: list[str]) -> list[str]:
        """Sort the serials: the order in the file has no meaning."""
        return sorted(set(serials))


class SmbDirectPolicy(Section):
    """Where shares over SMB Direct are served: `ports`, the names of network ports; without one it is off.

    `trusted_network`: that only trusted machines reach these ports, because nothing is signed or encrypted there.
    """

    ports: list[Annotated[str, names.interface]] = Field(default_factory=list)
    trusted_network: bool = False

    @field_validator("ports")
    @classmethod
    def ports_are_a_set(cls, ports: list[str]) -> list[str]:
        """Sort the ports: the order in the file has no meaning."""
        return sorted(set(ports))

    @model_validator(mode="after")
    def network_is_trusted(self) -> "SmbDirectPolicy":
        """Verify that ports come with a network that is trusted. ValueError: they do not."""
        if self.ports and not self.trusted_network:
            raise ValueError(
                "SMB Direct is neither signed nor encrypted: trusted_network = true says that only trusted machines "
                "reach these ports"
            )
        return self


class LayoutPolicy(Section):
    """`resilience`: how many drives of each leg may fail. `spares`: hot spares in all. `chunk_kib`: of each leg.

    `backend`: `md` makes arrays of the drives of this server, `external` takes the device that [external] names.
    """

    backend: Literal["md", "external"] = "md"
    resilience: Literal["single", "double"] | None = None
    level: Literal["raid1", "raid5", "raid6", "raid50", "raid60"] | None = None
    legs: int | None = Field(None, ge=1, le=64)
    spares: int | None = Field(None, ge=0, le=64)
    chunk_kib: Annotated[int, Field(ge=4, le=4096), AfterValidator(_power_of_two)] | None = None
    bitmap_chunk_mib: Annotated[int, Field(ge=1, le=4096), AfterValidator(_power_of_two)] | None = None

    @model_validator(mode="after")
    def keys_agree(self) -> "LayoutPolicy":
        """Verify that keys do not contradict each other, on any server. ValueError: they do."""
        if self.level and self.resilience and self.level not in LEVELS_OF[self.resilience]:
            raise ValueError(f"level {self.level} contradicts resilience {self.resilience}")
        if self.level and self.legs is not None and (self.legs > 1) != (self.level in NESTED):
            raise ValueError(f"level {self.level} contradicts legs {self.legs}")
        of_md = sorted(self.model_fields_set - {"backend"})
        if self.backend == "external" and of_md:
            raise ValueError(f"{of_md[0]} shapes arrays of md, and backend external has none: remove the key")
        return self


def _device(name: str) -> str:
    if not DEVICE.fullmatch(name):
        raise ValueError(f"{shown(name)} is not the path of a device in /dev/disk/by-id, nor of one in /dev")
    if KERNEL_NAME.fullmatch(name):
        raise ValueError(f"{name} may be another device after a restart: use its name in /dev/disk/by-id")
    return name


class ExternalPolicy(Section):
    """The device of backend `external`: one that something else than Millrace keeps, such as another RAID or a SAN.

    `devices` has one name that no restart changes, `log` that of a second device for the log of XFS. `io_min_kib` and
    `io_opt_kib` are chunk and full stripe of the device, where it does not report them.
    """

    devices: list[Annotated[str, AfterValidator(_device)]] = Field(default_factory=list)
    log: Annotated[str, AfterValidator(_device)] | None = None
    io_min_kib: Annotated[int, Field(ge=4, le=65536), AfterValidator(_pages)] | None = None
    io_opt_kib: Annotated[int, Field(ge=4, le=65536), AfterValidator(_pages)] | None = None


class LogPolicy(Section):
    """Where the XFS log goes: two small drives, a partition on the data drives, or inside the file system."""

    mode: Literal["pair", "partition", "internal"] | None = None
    size_mib: int | None = Field(None, ge=64, le=2038)


class XfsPolicy(Section):
    """`mount_options_extra` come after the planned ones and replace those of the same name."""

    agcount: int | None = Field(None, ge=4, le=65536)
    mount_options_extra: list[str] = Field(default_factory=list)

    @field_validator("mount_options_extra")
    @classmethod
    def options_are_words(cls, options: list[str]) -> list[str]:
        """Verify that each entry is one mount option, none that the plan itself decides. ValueError: it is not."""
        for option in options:
            if not MOUNT_OPTION.fullmatch(option):
                raise ValueError(f"'{option}' is not one mount option")
            if option.partition("=")[0] in UNSAFE_MOUNT_OPTIONS:
                raise ValueError(f"'{option}' is refused: the pool is always mounted {','.join(SAFE_MOUNT_OPTIONS)}")
            if option.partition("=")[0] in OWN_MOUNT_OPTIONS:
                raise ValueError(f"'{option}' is set by Millrace")
        return options


IoMode = Literal["buffered", "dontcache", "direct"]
"""How nfsd reads or writes a file: through the page cache, without keeping pages there, or around it."""


class NfsdPolicy(Section):
    """`threads` in all, `threads_min` for each pool; `max_block_size` in bytes; times in seconds.

    `localio`: whether NFS clients on the server itself may go around nfsd. `io_cache_read` and `io_cache_write` are
    for all shares.
    """

    threads: int | None = Field(None, ge=1, le=8192)
    threads_min: int | None = Field(None, ge=1, le=1024)
    pool_mode: Literal["global", "pernode"] | None = None
    max_block_size: Annotated[int, Field(ge=4096, le=4 << 20), AfterValidator(_blocks)] | None = None
    # the kernel takes 10 to 3600
    lease_time: int | None = Field(None, ge=10, le=3600)
    grace_time: int | None = Field(None, ge=10, le=3600)
    localio: bool | None = None
    io_cache_read: IoMode | None = None
    io_cache_write: IoMode | None = None

    @model_validator(mode="after")
    def grace_covers_a_lease(self) -> "NfsdPolicy":
        """Verify that a client that has just renewed gets its turn to reclaim.

        ValueError: grace is shorter than the lease.
        """
        if self.lease_time and self.grace_time and self.grace_time < self.lease_time:
            raise ValueError(f"grace_time {self.grace_time} is shorter than lease_time {self.lease_time}")
        return self


class SmbdPolicy(Section):
    """`max_credits`: requests, or 64 KiB of a large one, that a connection over SMB may have under way.

    `aio_min_bytes`: the smallest read or write in bytes that smbd does beside others; smaller ones it does one by one.
    """

    max_credits: int | None = Field(None, ge=128, le=32768)
    aio_min_bytes: int | None = Field(None, ge=1, le=64 << 20)


class PortsPolicy(Section):
    """`rx_usecs`: microseconds that a data port waits for more packets before an interrupt.

    `adaptive`: the driver follows the load. `interrupt_cores`: how many cores of its node take a port's interrupts.
    `most_queues`: how many queues a port has at most; `rx_ring` and `tx_ring`: descriptors of each of its rings.
    """

    rx_usecs: Annotated[int, Field(ge=0, le=1000)] | Literal["adaptive"] | None = None
    interrupt_cores: int | None = Field(None, ge=1, le=1024)
    most_queues: int | None = Field(None, ge=1, le=1024)
    rx_ring: int | None = Field(None, ge=64, le=65536)
    tx_ring: int | None = Field(None, ge=64, le=65536)


class MdPolicy(Section):
    """Settings of each parity array. The ranges are those of the kernel.

    `discard`: never trim free space of the pool, whatever the drives guarantee. `member_requests` and
    `member_max_kib` are of the queue of each drive in an array: requests that wait in it, and the largest request.
    `rebuild_min_kib`: what a rebuild gets of each drive at least beside clients while its array survives a failure.
    `direct_degraded_reads`: whether reads of a degraded array that need no missing drive bypass md's stripe cache.
    """

    group_thread_cnt: int | None = Field(None, ge=0, le=256)
    stripe_cache_size: int | None = Field(None, ge=256, le=32768)
    sync_speed_max_kib: int | None = Field(None, ge=1000, le=100_000_000)
    rebuild_min_kib: int | None = Field(None, ge=1000, le=100_000_000)
    read_ahead_kib: int | None = Field(None, ge=0, le=1 << 20)
    member_requests: int | None = Field(None, ge=4, le=65536)
    member_max_kib: Annotated[int, Field(ge=4, le=1 << 16), AfterValidator(_pages)] | None = None
    discard: Literal["never"] | None = None
    direct_degraded_reads: bool | None = None


class ScrubPolicy(Section):
    """When arrays are checked: in `window`, local time; `every` how often; `rate_kib` of each drive in KiB/s at most.

    The pool is trimmed in the same window. `never` leaves checks to `millrace pool scrub start`. Without a rate it
    follows from the size of the drives, the window and the period (plan/scrub.py).
    """

    window: Annotated[str, AfterValidator(checked_window)] = "Sun 01:00-07:00"
    every: Literal["week", "month", "quarter", "never"] = "month"
    rate_kib: int | None = Field(None, ge=1000, le=100_000_000)


class SysctlPolicy(Section):
    """`dirty_bytes`: where writers start to wait, in bytes."""

    dirty_bytes: Annotated[int, Field(ge=1 << 20), AfterValidator(_blocks)] | None = None


class JournalPolicy(Section):
    """`forward`: the URL of the receiver of the journal. `ca`: a PEM file, the authority of its certificate."""

    forward: Annotated[str, AfterValidator(names.collector)] | None = None
    ca: str | None = None

    @field_validator("ca")
    @classmethod
    def ca_is_a_file(cls, ca: str | None) -> str | None:
        """Verify the absolute path of a file; systemd reads it as it is. ValueError: it is none."""
        if ca is not None and not CA_FILE.fullmatch(ca):
            raise ValueError(f"{shown(ca)} is not the absolute path of a PEM file of letters, digits, . _ and -")
        return ca

    @model_validator(mode="after")
    def ca_is_for_https(self) -> "JournalPolicy":
        """Verify that `ca` comes with an https URL. ValueError: without one there is no certificate to check."""
        if self.ca is not None and not (self.forward or "").startswith("https:"):
            raise ValueError("ca requires forward with https://: only there is a certificate to check")
        return self


class Policy(Section):
    """The policy file; every key has a default."""

    nfs: NfsPolicy = NfsPolicy()
    drives: DrivesPolicy = DrivesPolicy()
    layout: LayoutPolicy = LayoutPolicy()
    external: ExternalPolicy = ExternalPolicy()
    log: LogPolicy = LogPolicy()
    xfs: XfsPolicy = XfsPolicy()
    nfsd: NfsdPolicy = NfsdPolicy()
    smbd: SmbdPolicy = SmbdPolicy()
    smb_direct: SmbDirectPolicy = SmbDirectPolicy()
    ports: PortsPolicy = PortsPolicy()
    md: MdPolicy = MdPolicy()
    sysctl: SysctlPolicy = SysctlPolicy()
    journal: JournalPolicy = JournalPolicy()
    scrub: ScrubPolicy = ScrubPolicy()
