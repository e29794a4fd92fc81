# SPDX-License-Identifier: Apache-2.0
"""A volume with a secret: every queue of a host authenticates before it reads."""

from typing import Any

from tests.kernel.test_raid456 import Records, named

AUTHENTICATION_REQUIRED = 0x4191
"""NVME_SC_AUTH_REQUIRED, and not to be tried again (include/linux/nvme.h)."""


def test_queue_that_has_not_authenticated_reads_nothing(found: Records) -> None:
    one: dict[str, Any] = named(found, "without the secret")
    assert (one["enabled"], one["identified"]) == (0, AUTHENTICATION_REQUIRED)
    assert (one["read"], one["got"]) == (AUTHENTICATION_REQUIRED, False)


def test_queue_of_a_host_that_has_authenticated_does_so_itself(found: Records) -> None:
    """The identity of a host is a name that everybody can send."""
    one: dict[str, Any] = named(found, "a queue of another's controller")
    assert (one["read"], one["got"]) == (AUTHENTICATION_REQUIRED, False)
    assert named(found, "with the secret, beside it")["got"]


def test_host_with_the_secret_reads_over_its_queues(found: Records) -> None:
    one: dict[str, Any] = named(found, "with the secret")
    assert (one["got"], one["queues"]) == (True, 2)


def test_host_without_a_secret_reads_as_before(found: Records) -> None:
    """That the others are refused is the secret's doing."""
    one: dict[str, Any] = named(found, "no secret is set")
    assert (one["enabled"], one["identified"], one["read"], one["got"]) == (0, 0, 0, True)
