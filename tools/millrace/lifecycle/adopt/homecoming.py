# SPDX-License-Identifier: Apache-2.0
"""Take over the state of a pool that comes home: this server has the pool, and another boot drive used it since.

The state is read from the mounted pool and restored like any other. Anything that is on this boot drive but not in the
state is removed first, because users, routes and keys that the other server removed would come back otherwise.
"""

from contextlib import suppress

from millrace.lifecycle.adopt import adoption_journal, restore, search
from millrace.lifecycle.adopt.model import Adoption
from millrace.lifecycle.adopt.ports import kept_ports, replaced
from millrace.lifecycle.keep import generation, generation_store, home, keeping, seal, ssh_keys, trust
from millrace.lifecycle.keep.generation_store import Newest
from millrace.lifecycle.keep.kept_files import KEPT, STATE, KeptPath, has
from millrace.lifecycle.keep.model import KeptElsewhere, KeyFile, Manifest, Trusted
from millrace.serve.account import accounts
from millrace.serve.config import store
from millrace.serve.config.model import Config
from millrace.storage.record.pool_file import load_pool
from millrace.system import paths
from millrace.system.documents import write_model
from millrace.system.errors import MillraceError, Refused
from millrace.system.files import sync
from millrace.system.run import Runner

OURS = (f"{STATE}/", "etc/millrace", "etc/krb5.keytab", "var/lib/samba/")
"""Where files are removed that the state does not have. Identities of the system are replaced and never missing."""


def pending() -> KeptElsewhere | None:
    """Return the newest state on the pool of this server, where another boot drive wrote it; else None.

    Refused: this server has no pool. Failed: the pool is not mounted. OSError: what is found cannot be recorded.
    """
    pool = load_pool()
    return home.found(keeping.mounted_pool(pool), pool.filesystem_uuid)


def trusted() -> list[Trusted]:
    """Return what the newest state on the mounted pool lets in: who had the drives meanwhile may have written it.

    Refused: this server has no pool. Failed: the pool is not mounted. BadInput: its state cannot be read.
    """
    newest = generation_store.newest(generation_store.directory(keeping.mounted_pool(load_pool())))
    return trust.trusted(newest.generation) if newest else []


def begin(run: Runner, by: str, at: str, passphrase: str | None) -> Adoption:
    """Record that the newest state on the mounted pool is to be restored; from here on this server has no pool.

    Refused: there is nothing to decide, or the passphrase is missing or wrong; nothing was written. BadInput: the state
    cannot be restored by this release.
    """
    pool = load_pool()
    where = generation_store.directory(keeping.mounted_pool(pool))
    newest = generation_store.newest(where) if pending() else None
    if newest is None:
        raise Refused("this server has a pool already; see it with `millrace pool show`")
    manifest = newest.generation.manifest
    restore.verify(manifest, newest.generation.readable())
    search.pool_of(newest)
    config = search.config_of(newest)
    key = _key(newest, passphrase)
    adoption = Adoption(
        pool=pool.filesystem_uuid,
        generation=newest.number,
        by=by,
        at=at,
        secrets=True,
        ports=replaced(kept_ports(config, run), run),
        again=True,
    )
    if key is not None:
        write_model(paths.keep_key_file(), key, mode=0o600)
    else:
        seal.forget()
    adoption_journal.begin(adoption, generation.pack(manifest, newest.generation.stored, key))
    # without pool.json the adoption is under way, in every boot until it is done
    paths.pool_file().unlink()
    sync(paths.pool_file().parent)
    paths.kept_elsewhere_file().unlink(missing_ok=True)
    return adoption


def clear(manifest: Manifest, new: Config, run: Runner) -> None:
    """Remove accounts and files that the state does not have. Failed: an account cannot be removed."""
    old = Config()
    with suppress(MillraceError):
        old = store.read().config
    same = {user.name for user in new.users if (was := old.user(user.name)) and was.uid == user.uid}
    kept = new.model_copy(update={"users": [user for user in new.users if user.name in same]})
    # before anything is restored: the list of the users of before is replaced then
    accounts.remove_unwanted(old, kept, run)
    # which members are kept apart follows from the record of the state
    paths.apart_now_file().unlink(missing_ok=True)
    unread = {problem.partition(":")[0] for problem in manifest.problems}
    names = {member.path for member in manifest.members}
    for kept_one in KEPT:
        if kept_one.path not in unread:
            _clear(kept_one, names)


def _clear(kept: KeptPath, names: set[str]) -> None:
    if kept.how == "keys":
        # the keys of the state replace those of this boot drive
        ssh_keys.remove(kept.path)
        return
    if kept.how in ("shadow", "quotas", "link") or not kept.path.startswith(OURS):
        return
    top = paths.ROOT / kept.path
    matches = top.rglob("*") if kept.how == "tree" else top.parent.glob(top.name)
    for path in sorted(matches):
        name = str(path.relative_to(paths.ROOT))
        stored = f"{name}.dump" if kept.how == "tdb" else name
        if (path.is_symlink() or path.is_file()) and has(kept, stored) and stored not in names:
            path.unlink()


def _key(newest: Newest, passphrase: str | None) -> KeyFile | None:
    kept_seal = newest.generation.manifest.seal
    if kept_seal is None:
        return None
    key = seal.current()
    if passphrase is not None:
        key = KeyFile(seal=kept_seal, key=seal.derived(kept_seal, passphrase).hex())
    elif key is None or key.seal != kept_seal:
        raise Refused("the secrets in the kept state are encrypted: type the passphrase; nothing was written")
    newest.generation.opened(key)
    return key
