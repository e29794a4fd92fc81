# SPDX-License-Identifier: Apache-2.0
"""Error counters as kernel 7.2 prints them: EDAC, AER and the heat of Intel's processors."""

from pathlib import Path

# drivers/pci/pcie/aer.c
CORRECTABLE = ["RxErr", "BadTLP", "BadDLLP", "Rollover", "Timeout", "NonFatalErr", "CorrIntErr", "HeaderOF"]
UNCORRECTABLE = [
    *("Undefined", "DLP", "SDES", "TLP", "FCP", "CmpltTO", "CmpltAbrt", "UnxCmplt", "RxOF", "MalfTLP", "ECRC"),
    *("UnsupReq", "ACSViol", "UncorrIntErr", "BlockedTLP", "AtomicOpBlocked", "TLPBlockedErr", "PoisonTLPBlocked"),
    *("DMWrReqBlocked", "IDECheck", "MisIDETLP", "PCRC_CHECK", "TLPXlatBlocked"),
]


def add_module(root: Path, controller: int, number: int, label: str, corrected: int = 0, uncorrected: int = 0) -> Path:
    """A memory module; the counts of its controller are the sums of all that were added."""
    directory = root / f"sys/devices/system/edac/mc/mc{controller}"
    dimm = directory / f"dimm{number}"
    dimm.mkdir(parents=True, exist_ok=True)
    for name, value in (("dimm_label", label), ("dimm_ce_count", corrected), ("dimm_ue_count", uncorrected)):
        (dimm / name).write_text(f"{value}\n")
    for name in ("ce", "ue"):
        total = sum(int(file.read_text()) for file in directory.glob(f"dimm*/dimm_{name}_count"))
        (directory / f"{name}_count").write_text(f"{total}\n")
    return directory


def add_aer(function: Path, corrected: dict[str, int] | None = None, uncorrected: dict[str, int] | None = None) -> None:
    """The counters of a PCI function; the uncorrected ones are those that were not fatal."""
    function.mkdir(parents=True, exist_ok=True)
    _write(function / "aer_dev_correctable", CORRECTABLE, "COR", corrected or {})
    _write(function / "aer_dev_nonfatal", UNCORRECTABLE, "NONFATAL", uncorrected or {})
    _write(function / "aer_dev_fatal", UNCORRECTABLE, "FATAL", {})


def add_card(root: Path, port: str, address: str, name: str, corrected: dict[str, int] | None = None) -> Path:
    """A network port below a PCIe port; returns its PCI function."""
    function = root / f"sys/devices/pci{port[:7]}/{port}/{address}"
    add_aer(function, corrected)
    add_aer(function.parent)
    (function / "class").write_text("0x020000\n")
    (function / "net" / name).mkdir(parents=True)
    link, port = root / "sys/bus/pci/devices" / address, root / "sys/class/net" / name
    for directory in (link.parent, port):
        directory.mkdir(parents=True, exist_ok=True)
    link.symlink_to(function)
    if (port / "device").is_dir():
        (port / "device").rmdir()
    (port / "device").symlink_to(function)
    return function


def add_throttling(root: Path, cpu: int, package: int, times: int, ms: int = 0) -> None:
    """How often the package of a CPU was slowed down."""
    directory = root / f"sys/devices/system/cpu/cpu{cpu}"
    files = {
        "topology/physical_package_id": package,
        "thermal_throttle/package_throttle_count": times,
        "thermal_throttle/package_throttle_total_time_ms": ms,
    }
    for name, value in files.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(f"{value}\n")


def _write(file: Path, names: list[str], total: str, counts: dict[str, int]) -> None:
    assert set(counts) <= set(names)
    lines = [f"{name} {counts.get(name, 0)}" for name in names]
    file.write_text("\n".join([*lines, f"TOTAL_ERR_{total} {sum(counts.values())}\n"]))
