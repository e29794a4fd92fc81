# SPDX-License-Identifier: Apache-2.0
"""Whether the owner of this server signed a release: gpgv(1) with the keys of the image and those of /etc."""

from pathlib import Path

from millrace.system import paths
from millrace.system.errors import BadInput, Failed, Refused
from millrace.system.run import Runner, last_words

IMAGE_KEYS = "usr/lib/millrace/update-keys.pgp"
OWN_KEYS = "etc/millrace/update-keys.pgp"

NO_KEYS = (
    "this image was built without an update key, so no update can be verified: "
    f"put the public key of your releases (update-public.pgp) at /{OWN_KEYS}"
)


def keyrings() -> list[Path]:
    """Return the files with the keys that sign updates of this server."""
    return [path for name in (IMAGE_KEYS, OWN_KEYS) if (path := paths.ROOT / name).is_file()]


def verify(signed: Path, signature: Path, run: Runner) -> None:
    """Verify a detached signature. Refused: there is no key. BadInput: it is not a signature of one of the keys.

    Failed: gpgv does not run.
    """
    keys = keyrings()
    if not keys:
        raise Refused(NO_KEYS)
    named = [word for path in keys for word in ("--keyring", str(path))]
    result = run(["gpgv", "--status-fd", "1", *named, str(signature), str(signed)])
    said = {line.split()[1] for line in result.out.splitlines() if line.startswith("[GNUPG:] ") and len(line) > 9}
    if result.status == 0 and "VALIDSIG" in said and not said & {"BADSIG", "ERRSIG"}:
        return
    if result.status in (124, 127):
        raise Failed(f"the signature cannot be verified: {last_words(result)}")
    if "BADSIG" in said:
        raise BadInput("the signature of SHA256SUMS is wrong: the release was altered or is damaged; get it again")
    if "NO_PUBKEY" in said:
        raise BadInput(
            "SHA256SUMS is signed by a key that this server does not accept; "
            f"it accepts those of its image and of /{OWN_KEYS}"
        )
    raise BadInput("SHA256SUMS.gpg is not a signature; get the release again")
