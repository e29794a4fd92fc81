# SPDX-License-Identifier: Apache-2.0
"""The policy: what the owner of the server decides; everything else is computed.

A key that is absent leaves the decision to the planner. Values that no server could use are refused here; whether this
server can use them is verified where the decision is made (see millrace.plan.override).
"""

import re
from typing import Annotated, Any, Literal

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


When = Literal["now", "boot", "new pool"]
"""When a changed key takes effect: at once, at the next boot, or only in a pool that is made later."""


def key(meaning: str, default: Any = None, when: When = "now", **limits: Any) -> Any:
    """Return a key of the policy with its documentation, which stands here alone.

    `default` None leaves the decision to the planner or to what the meaning names; `limits` are those of `Field`.
    """
    value = {"default_factory": default} if callable(default) else {"default": default}
    return Field(**value, description=meaning, json_schema_extra={"when": when}, **limits)


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
    """Clients of NFS."""

    networks: list[str] = key(
        "client networks of NFS, CIDR, /8 (IPv6 /16) or longer; without it the networks confirmed with `millrace share "
        "networks set`",
        list,
    )
    privileged_ports: bool = key("whether mounts come from client ports below 1024 only", True)
    copy_from: list[str] = key(
        "addresses of the servers that this server may copy files from when a client asks it to", list
    )

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
    """Drives of this server."""

    exclude: list[Annotated[str, Field(min_length=1)]] = key(
        "serial numbers of drives that Millrace does not use", list
    )
    replace: Literal["ask", "same-bay"] = key(
        "whether a blank drive in the bay of a missing member replaces it automatically", "ask"
    )

    @field_validator("exclude")
    @classmethod
    def exclude_is_a_set(cls, serials: list[str]) -> list[str]:
        """Sort the serials: the order in the file has no meaning."""
        return sorted(set(serials))


class SmbDirectPolicy(Section):
    """Where shares over SMB Direct are served."""

    ports: list[Annotated[str, names.interface]] = key(
        "network ports for shares over SMB Direct: a port of each RDMA device; without one it is off", list
    )
    trusted_network: bool = key(
        "true: only trusted machines reach these ports, where nothing is signed or encrypted; required with `ports`",
        False,
    )

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
    """The arrays of a new pool."""

    backend: Literal["md", "external"] = key(
        "md: arrays of the drives of this server; external: the device of [external]", "md", "new pool"
    )
    resilience: Literal["single", "double"] | None = key("drives of each leg that may fail", None, "new pool")
    level: Literal["raid1", "raid5", "raid6", "raid50", "raid60"] | None = key("RAID level", None, "new pool")
    legs: int | None = key("number of legs", None, "new pool", ge=1, le=64)
    spares: int | None = key("number of hot spares in all", None, "new pool", ge=0, le=64)
    chunk_kib: Annotated[int, Field(ge=4, le=4096), AfterValidator(_power_of_two)] | None = key(
        "chunk of each leg in KiB, a power of two", None, "new pool"
    )
    bitmap_chunk_mib: Annotated[int, Field(ge=1, le=4096), AfterValidator(_power_of_two)] | None = key(
        "bytes for each bit of the bitmap in MiB, a power of two", None, "new pool"
    )

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
    """The device of backend `external`: one that another RAID or a SAN keeps."""

    devices: list[Annotated[str, AfterValidator(_device)]] = key(
        "a device of another RAID or a SAN: its name in /dev/disk/by-id", list, "new pool"
    )
    log: Annotated[str, AfterValidator(_device)] | None = key(
        "a second device for the log of XFS; without it the log is inside the file system", None, "new pool"
    )
    io_min_kib: Annotated[int, Field(ge=4, le=65536), AfterValidator(_pages)] | None = key(
        "chunk of the device in KiB; without it the value that the device reports", None, "new pool"
    )
    io_opt_kib: Annotated[int, Field(ge=4, le=65536), AfterValidator(_pages)] | None = key(
        "full stripe of the device in KiB; without it the value that the device reports", None, "new pool"
    )


class LogPolicy(Section):
    """The XFS log of a new pool."""

    mode: Literal["pair", "partition", "internal"] | None = key(
        "pair: on two small drives; partition: on the data drives; internal: inside XFS", None, "new pool"
    )
    size_mib: int | None = key("size of the XFS log in MiB", None, "new pool", ge=64, le=2038)


class XfsPolicy(Section):
    """The file system of a new pool."""

    agcount: int | None = key("number of allocation groups", None, "new pool", ge=4, le=65536)
    mount_options_extra: list[str] = key(
        "added to the planned mount options; replaces those of the same name", list, "new pool"
    )

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
    """The NFS server."""

    threads: int | None = key("threads of nfsd in all", ge=1, le=8192)
    threads_min: int | None = key("least threads of each pool of threads", ge=1, le=1024)
    pool_mode: Literal["global", "pernode"] | None = key("one pool of threads, or one for each NUMA node", when="boot")
    max_block_size: Annotated[int, Field(ge=4096, le=4 << 20), AfterValidator(_blocks)] | None = key(
        "largest read or write of NFS in bytes, a multiple of 4096", when="boot"
    )
    # the kernel takes 10 to 3600
    lease_time: int | None = key("seconds after which the state of a silent client may go", when="boot", ge=10, le=3600)
    grace_time: int | None = key(
        "seconds in which clients reclaim their locks after a start", when="boot", ge=10, le=3600
    )
    localio: bool | None = key("false: NFS clients on the server itself go through nfsd")
    io_cache_read: IoMode | None = key(
        "how nfsd reads files of all shares; without effect under Secure Boot; without it buffered"
    )
    io_cache_write: IoMode | None = key(
        "how nfsd writes files of all shares; without effect under Secure Boot; without it buffered"
    )

    @model_validator(mode="after")
    def grace_covers_a_lease(self) -> "NfsdPolicy":
        """Verify that a client that has just renewed gets its turn to reclaim.

        ValueError: grace is shorter than the lease.
        """
        if self.lease_time and self.grace_time and self.grace_time < self.lease_time:
            raise ValueError(f"grace_time {self.grace_time} is shorter than lease_time {self.lease_time}")
        return self


class SmbdPolicy(Section):
    """The SMB server."""

    max_credits: int | None = key(
        "credits of each connection over SMB: requests under way, of which a large one counts once for each 64 KiB; "
        "without it Samba's 8192",
        ge=128,
        le=32768,
    )
    aio_min_bytes: int | None = key(
        "smallest read or write of SMB in bytes that is asynchronous; without it Samba's 1, all of them",
        ge=1,
        le=64 << 20,
    )


class PortsPolicy(Section):
    """The data ports."""

    rx_usecs: Annotated[int, Field(ge=0, le=1000)] | Literal["adaptive"] | None = key(
        "microseconds that each data port waits for more packets before an interrupt; without it the driver's"
    )
    interrupt_cores: int | None = key(
        "cores of its NUMA node that take the interrupts of each data port; without it one for each queue",
        ge=1,
        le=1024,
    )
    most_queues: int | None = key(
        "queues of each data port at most; without it one for each core of its NUMA node", ge=1, le=1024
    )
    rx_ring: int | None = key(
        "descriptors of each receive ring of the data ports; without it the driver's", ge=64, le=65536
    )
    tx_ring: int | None = key(
        "descriptors of each transmit ring of the data ports; without it the driver's", ge=64, le=65536
    )


class MdPolicy(Section):
    """Each parity array, and its members. The ranges are those of the kernel."""

    group_thread_cnt: int | None = key("threads of each parity array", ge=0, le=256)
    stripe_cache_size: int | None = key("stripes in the cache of each parity array", ge=256, le=32768)
    sync_speed_max_kib: int | None = key("limit of a rebuild in KiB/s", ge=1000, le=100_000_000)
    rebuild_min_kib: int | None = key(
        "least rate of a rebuild beside clients, in KiB/s of each drive, while its array survives a failure and the "
        "priority is balanced; without it by the remaining redundancy",
        ge=1000,
        le=100_000_000,
    )
    read_ahead_kib: int | None = key("read-ahead in KiB", ge=0, le=1 << 20)
    member_requests: int | None = key(
        "requests that wait in the queue of each drive in an array; without it the kernel's", ge=4, le=65536
    )
    member_max_kib: Annotated[int, Field(ge=4, le=1 << 16), AfterValidator(_pages)] | None = key(
        "largest request to each drive in an array in KiB; without it the kernel's"
    )
    discard: Literal["never"] | None = key("never: the pool is not trimmed, even if every drive guarantees zeroes")
    direct_degraded_reads: bool | None = key("false: all reads of a degraded array go through md's stripe cache")


class ScrubPolicy(Section):
    """When arrays are checked and the pool is trimmed."""

    window: Annotated[str, AfterValidator(checked_window)] = key(
        "when arrays are checked and the pool is trimmed, local time: a day (Mon to Sun, or daily) and two times",
        "Sun 01:00-07:00",
    )
    every: Literal["week", "month", "quarter", "never"] = key(
        "how often arrays are checked; never: only by `millrace pool scrub start`", "month"
    )
    rate_kib: int | None = key(
        "limit of a check in KiB/s of each drive; without it the rate that follows from the size of the drives, the "
        "window and the period",
        ge=1000,
        le=100_000_000,
    )


class SnapshotsPolicy(Section):
    """Scheduled snapshots of shares."""

    # a snapshot that leaves less than 10 % of the pool free is refused
    free: int = key(
        "percent of the pool that stay free: below, the oldest scheduled snapshots are removed; never the newest "
        "snapshot of each kind of a share, none that is locked, and none that a user made",
        12,
        ge=11,
        le=50,
    )
    removal_delay: int = key(
        "hours from `millrace snapshot remove` to the removal, in which it can be cancelled; time in which the server "
        "is off does not count",
        24,
        ge=1,
        le=720,
    )


class SysctlPolicy(Section):
    """Memory of the kernel."""

    dirty_bytes: Annotated[int, Field(ge=1 << 20), AfterValidator(_blocks)] | None = key(
        "dirty page cache in bytes at which writers wait, a multiple of 4096"
    )


class JournalPolicy(Section):
    """Forwarding of the journal."""

    forward: Annotated[str, AfterValidator(names.collector)] | None = key("URL of the host that receives the journal")
    ca: str | None = key(
        "absolute path of a PEM file: the authority of that host's certificate; without it those of the system"
    )

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
    snapshots: SnapshotsPolicy = SnapshotsPolicy()
