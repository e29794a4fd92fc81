# SPDX-License-Identifier: Apache-2.0
"""The end of provisioning: the result becomes the state of this server."""

from millrace.storage.array.machine import System
from millrace.storage.provision.mount_unit import mount_unit, mount_unit_file
from millrace.storage.record.identity import filesystem_of
from millrace.storage.record.model import Pool, Transaction
from millrace.storage.record.pool_file import save_pool
from millrace.system import paths
from millrace.system.documents import write_model
from millrace.system.files import write_text
from millrace.system.run import must


def publish(system: System, transaction: Transaction) -> Pool:
    """Write the pool; pool.json comes after all that it stands for, the journal is removed last."""
    digest = transaction.plan.digest()
    pool = Pool(
        backend=transaction.plan.backend,
        plan_sha256=digest,
        created=system.now(),
        drives=transaction.drives,
        arrays=transaction.arrays,
        filesystem=filesystem_of(transaction),
        filesystem_uuid=transaction.filesystem_uuid,
    )
    history = paths.state_dir() / "history" / transaction.id
    write_text(mount_unit_file(), mount_unit(pool.filesystem, digest))
    write_model(paths.approved_plan_file(), transaction.plan)
    write_model(history / "plan.json", transaction.plan)
    _reload_mount_unit(system)
    save_pool(pool)
    clean_up()
    return pool


def renew_mount_unit(system: System, pool: Pool) -> bool:
    """Write the mount unit as this version has it, before the pool is mounted; return False if it is current."""
    if not write_text(mount_unit_file(), mount_unit(pool.filesystem, pool.plan_sha256)):
        return False
    _reload_mount_unit(system)
    return True


def _reload_mount_unit(system: System) -> None:
    """Have systemd read the mount unit again where it knows an older one; one that was missing it finds by itself."""
    command = ["systemctl", "show", "--property=NeedDaemonReload", "--value", mount_unit_file().name]
    if must(system.attempt, command).strip() != "no":
        must(system.attempt, ["systemctl", "daemon-reload"])


def clean_up() -> None:
    """Remove approval and journal once pool.json exists."""
    paths.approval_file().unlink(missing_ok=True)
    paths.transaction_file().unlink(missing_ok=True)
