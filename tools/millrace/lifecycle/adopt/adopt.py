# SPDX-License-Identifier: Apache-2.0
"""Adopt the pool that was found: its kept state becomes that of this server, under a journal, and it serves."""

from collections.abc import Mapping, Sequence
from contextlib import suppress

from millrace.lifecycle.adopt import adopt_paths, adoption_journal, homecoming, progress, restore, text
from millrace.lifecycle.adopt.model import Adopted, Adoption
from millrace.lifecycle.adopt.ports import kept_ports, replaced
from millrace.lifecycle.adopt.search import Seen, config_of, look_for, origin_of, pool_of, verify
from millrace.lifecycle.adopt.search_result import forget, refuse_if_pool
from millrace.lifecycle.keep import generation, generation_store, home, seal, trust
from millrace.lifecycle.keep.generation import Generation
from millrace.lifecycle.keep.model import KeyFile, TrustKind
from millrace.lifecycle.keep.trust import KINDS
from millrace.storage.array.machine import System
from millrace.storage.assemble import in_sync, standstill
from millrace.storage.record.pool_file import save_pool
from millrace.system import paths
from millrace.system.documents import write_model
from millrace.system.errors import BadInput, Failed, MillraceError, Refused
from millrace.system.files import describe
from millrace.system.run import Runner, must

SERVE = "millrace-assemble.service"
READD = "millrace-readd.service"
AUTO = "auto"
CREDENTIAL = "credential"
"""Who adopts where nobody is asked."""


def begin(
    system: System,
    run: Runner,
    wanted: str,
    by: str,
    passphrase: str | None,
    secrets: bool = True,
    without: Sequence[TrustKind] = (),
) -> Adoption:
    """Read the pool again and record that its state is to be restored; `wanted` is the file system's UUID, or `auto`.

    `without` is left out of what the state lets in; all of it, where nobody confirms the adoption.
    Refused: there is another pool or none, the passphrase is missing or wrong, `secrets` are wanted and sealed; nothing
    was written. BadInput: the state cannot be restored by this release. Failed: arrays or file system do not start.
    """
    refuse_if_pool()
    seen = look_for(system)
    if wanted not in (AUTO, seen.uuid):
        raise Refused(f"the pool on the drives of this server is {seen.uuid}, not {wanted}; nothing was written")
    _, config = verify(seen)
    manifest = seen.newest.generation.manifest
    if by == CREDENTIAL and origin_of(manifest) == "drives":
        raise Refused(
            "the pool carries no kept state that can be read: what its directories say is adopted by hand only, with "
            "`millrace pool adopt`; nothing was written"
        )
    key = _key(seen.newest.generation, passphrase) if manifest.seal and secrets else None
    adoption = Adoption(
        pool=seen.uuid,
        generation=seen.newest.number,
        by=by,
        at=system.now(),
        secrets=secrets,
        ports=replaced(kept_ports(config, run), run),
        without=list(KINDS if by == CREDENTIAL else without),
    )
    if key is not None:
        # What is kept from now on is sealed with the same passphrase, and an interrupted adoption needs no other.
        write_model(paths.keep_key_file(), key, mode=0o600)
    adoption_journal.begin(adoption, _bytes(seen, key))
    return adoption


def finish(adoption: Adoption, run: Runner) -> Adopted:
    """Restore the state; pool.json comes last, then the journal is removed. Repeated after a power cut.

    BadInput: the state cannot be restored. Failed: a tool fails; the adoption goes on when the command is run again.
    The journal says why it stopped.
    """
    try:
        return _finish(adoption, run)
    except (MillraceError, OSError) as error:
        said = describe(error)
        # the reason itself is raised, also where it is that nothing can be written
        with suppress(OSError):
            write_model(paths.adoption_file(), adoption.model_copy(update={"problem": said}))
        raise


def _finish(adoption: Adoption, run: Runner) -> Adopted:
    state = generation.unpack(adopt_paths.state_file().read_bytes())
    contents = _contents(state, adoption)
    newest = generation_store.Newest(adoption.generation, state, {})
    config = config_of(newest)
    if adoption.again:
        homecoming.clear(state.manifest, config, run)
    missing = restore.restore(state.manifest, contents, adoption.ports, run)
    # as old as the state: members may have come and gone since
    in_sync.forget_left()
    home.settle(adoption.generation)
    done = Adopted(
        pool=adoption.pool,
        generation=adoption.generation,
        host=state.manifest.host,
        shares=[share.name for share in config.shares],
        users=[user.name for user in config.users],
        missing=[
            *text.closed(origin_of(state.manifest), state.manifest.forgotten),
            *_left_out(state, adoption),
            *missing,
        ],
    )
    progress.record("pool")
    write_model(adopt_paths.adopted_file(), done)
    save_pool(pool_of(newest))
    adoption_journal.end()
    forget()
    progress.PROGRESS.remove()
    return done


def serve(run: Runner) -> None:
    """Start what a boot with a pool starts. Failed: an array does not start; the pool stays adopted."""
    must(run, ["systemctl", "start", SERVE])


def serve_again(run: Runner) -> None:
    """Serve a pool that came home and is mounted: members that were left out by the record of before are looked for.

    Failed: systemd does not take the jobs.
    """
    must(run, ["systemctl", "start", "--no-block", READD, standstill.SERVING])


def _bytes(seen: Seen, key: KeyFile | None) -> bytes:
    """The state as it was verified, whole: what is restored is what was read once."""
    found = seen.newest.generation
    # as it was authenticated, too: an interrupted adoption reads it again
    return generation.pack(found.manifest, found.stored, key)


def _key(state: Generation, passphrase: str | None) -> KeyFile:
    if state.manifest.seal is None:
        raise Failed("the state has no encrypted files")
    if passphrase is None:
        raise Refused(
            "the secrets in the kept state are encrypted: type the passphrase, or adopt with --without-secrets; "
            "nothing was written"
        )
    key = KeyFile(seal=state.manifest.seal, key=seal.derived(state.manifest.seal, passphrase).hex())
    state.opened(key)
    return key


def _contents(found: Generation, adoption: Adoption) -> Mapping[str, bytes]:
    if not adoption.secrets:
        return trust.without_secrets(found.manifest.members, found.readable())
    if found.manifest.seal is None:
        return trust.left(found.stored, adoption.without)
    key = seal.current()
    if key is None or key.seal != found.manifest.seal:
        raise BadInput(f"{paths.keep_key_file()} is not the key of the state: run `millrace pool adopt` again")
    return trust.left(found.opened(key), adoption.without)


def _left_out(found: Generation, adoption: Adoption) -> list[str]:
    refused = [kind for kind in KINDS if kind not in trust.SERVED] if not adoption.secrets else adoption.without
    kinds = trust.refused_with(refused)
    return [trust.LEFT_OUT[one.kind] for one in trust.trusted(found) if one.kind in kinds]
