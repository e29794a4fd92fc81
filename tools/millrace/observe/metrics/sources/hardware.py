# SPDX-License-Identifier: Apache-2.0
"""What hardware counts of its own errors since the start of the server, from sysfs."""

from millrace.inventory import error_counters
from millrace.inventory.present import present
from millrace.observe.metrics.family import Family, counter
from millrace.system import paths


def families() -> list[Family]:
    """Return the errors of memory modules and PCIe links, and the heat of CPU sockets; none that nothing counts."""
    modules = error_counters.modules(paths.ROOT)
    ends = [
        (end.errors, {"link": link.subject, "end": end.key})
        for link in error_counters.links(paths.ROOT, present())
        for end in link.ends
    ]
    packages = error_counters.throttled_packages(paths.ROOT)
    return [
        counter(
            "memory_corrected_errors",
            "Errors of a memory module that ECC corrected.",
            *((one.corrected, {"module": one.title}) for one in modules),
        ),
        counter(
            "memory_uncorrected_errors",
            "Errors of a memory module that ECC could not correct.",
            *((one.uncorrected, {"module": one.title}) for one in modules),
        ),
        counter(
            "pcie_corrected_errors",
            "Corrected errors that one end of a PCIe link reported.",
            *((one.corrected, end) for one, end in ends),
        ),
        counter(
            "pcie_uncorrected_errors",
            "Errors that one end of a PCIe link reported and that were not corrected.",
            *((one.uncorrected, end) for one, end in ends),
        ),
        counter(
            "cpu_throttled",
            "How often heat slowed a CPU socket down.",
            *((times, {"socket": str(number)}) for number, (times, _) in packages.items()),
        ),
    ]
