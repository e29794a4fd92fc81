# SPDX-License-Identifier: Apache-2.0
"""What a TPM 2.0 measures of a kernel image, signed by the owner: such images open the root file system by themselves.

systemd-stub(7) hands both to the initrd: the public key, to which a new root is bound (`.pcrpkey`), and the signatures
(`.pcrsig`). The sections are added after the build, which sees no key.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from host import keys, tools_tree
from millrace.system.errors import Failed
from vm import pe

MEASURE = "lib/systemd/systemd-measure"
KEY, SIGNATURE = ".pcrpkey", ".pcrsig"
# What systemd-stub 262 measures into PCR 11, where an image has it; the options of systemd-measure have these names.
MEASURED = ("linux", "osrel", "cmdline", "initrd", "ucode", "splash", "dtb", "uname", "sbat", "hwids", "profile")
# The only state of PCR 11 that is signed: kernel image and initrd alone, before any file of a root file system was used
# (systemd-pcrphase.service(8)). Who puts another root file system beside the encrypted one has the same kernel image.
PHASE = "enter-initrd"
# Sections of which there may be several, each with a policy of its own.
MANY = (".dtbauto", ".efifw")
# Each begins a profile. The sections in front of the first are those of all profiles; root is opened by the first
# profile alone, which adds nothing to them. The others are never started by themselves.
PROFILE = ".profile"


def is_kernel_image(data: bytes) -> bool:
    """Whether a PE file has a kernel in it. Failed: it is no PE file."""
    return any(name == ".linux" for name, _ in pe.sections(data))


def signed(data: bytes, owner: keys.Keys, tools: Path) -> bytes:
    """Return an unsigned kernel image with the owner's key of root and its signatures of what is measured.

    Failed: its first profile has sections of its own, or a tool fails.
    """
    sections = pe.sections(data)
    contents = _of_first_profile(sections)
    if several := [name for name, _ in sections if name in MANY]:
        raise Failed(f"A kernel image with a section {several[0]}: what is measured of it is not signed yet.")
    public = (owner.directory / keys.PCR_PUBLIC).read_bytes()
    with TemporaryDirectory(prefix="millrace-measure-") as directory:
        work = Path(directory)
        options = [f"--pcrpkey={owner.directory / keys.PCR_PUBLIC}", "--bank=sha256", "--json=short"]
        options.append(f"--phase={PHASE}")
        for name in MEASURED:
            if f".{name}" in contents:
                (work / name).write_bytes(contents[f".{name}"])
                options.append(f"--{name}={work / name}")
        signatures = work / "signatures"
        appended: list[str] = []
        for key in owner.root_keys():
            pair = [f"--private-key={key}", f"--public-key={key.with_name(keys.PCR_PUBLIC)}"]
            signatures.write_text(tools_tree.run(tools, MEASURE, "sign", *options, *pair, *appended))
            appended = [f"--append={signatures}"]
        return pe.with_sections(data, {KEY: public, SIGNATURE: signatures.read_bytes()}, before=PROFILE)


def _of_first_profile(found: list[tuple[str, bytes]]) -> dict[str, bytes]:
    """Return the sections that the stub measures when it starts an image as firmware does, by name."""
    names = [name for name, _ in found]
    if PROFILE not in names:
        return dict(found)
    first = names.index(PROFILE)
    if names[first + 1 : first + 2] not in ([], [PROFILE]):
        raise Failed("A kernel image whose first profile has sections of its own: what is measured is not signed yet.")
    return dict(found[: first + 1])
