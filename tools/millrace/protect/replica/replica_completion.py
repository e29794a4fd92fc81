# SPDX-License-Identifier: Apache-2.0
"""The replicas that a shell completes."""

from collections.abc import Iterator

from millrace.system.completion import completes


def _all_replicas() -> Iterator[str]:
    from millrace.serve.config import store

    yield from (share.name for share in store.load().shares if share.replica is not None)


REPLICAS = completes(_all_replicas)
