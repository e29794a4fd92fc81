# SPDX-License-Identifier: Apache-2.0
"""Errors that both ends of PCIe links counted since the start of the server, from sysfs."""

from millrace.inventory import error_counters
from millrace.inventory.present import present
from millrace.observe.metrics.family import Family, counter
from millrace.system import paths


def families() -> list[Family]:
    """Return the errors of PCIe links; none that nothing counts."""
    ends = [
        (end.errors, {"link": link.subject, "end": end.key})
        for link in error_counters.links(paths.ROOT, present())
        for end in link.ends
    ]
    return [
        counter(
            "pcie_corrected_errors",
            "Corrected errors that one end of a PCIe link reported.",
            *((errors.corrected, end) for errors, end in ends),
        ),
        counter(
            "pcie_uncorrected_errors",
            "Errors that one end of a PCIe link reported and that were not corrected.",
            *((errors.uncorrected, end) for errors, end in ends),
        ),
    ]
