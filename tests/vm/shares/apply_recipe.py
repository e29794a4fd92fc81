# SPDX-License-Identifier: Apache-2.0
"""Runs on the client: does what a recipe says, as it stands, asks the check, and takes everything away again.

    python3 apply_recipe.py fstab|units CHECK PASSWORD < recipe.json

The status is that of the check; what it found is printed.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

EXPECT = "/run/expect.json"
CLEAN = "systemctl stop '*.automount'; umount -a -t nfs4,cifs; : > /etc/fstab; systemctl daemon-reload"


def write(file: dict[str, str], password: str) -> None:
    path = Path(file["path"])
    path.parent.mkdir(parents=True, exist_ok=True)
    # the one thing that an administrator adds to a recipe
    path.write_text(file["text"].replace("password=\n", f"password={password}\n"))
    path.chmod(int(file["mode"], 8))


def main() -> int:
    way, check, password = sys.argv[1:]
    recipe = json.load(sys.stdin)
    # options of a module count when it is loaded
    subprocess.run("modprobe -r nfsv4 nfs", shell=True, stderr=subprocess.DEVNULL, check=False)
    units = recipe["units"] if way == "units" else []
    for file in [*recipe["files"], *units]:
        write(file, password)
    Path("/etc/fstab").write_text("".join(f"{line}\n" for line in recipe["fstab"]) if way == "fstab" else "")
    Path(EXPECT).write_text(json.dumps(recipe["expect"]))
    try:
        for command in recipe["fstab_commands" if way == "fstab" else "unit_commands"]:
            subprocess.run(command, shell=True, check=True)
        process = subprocess.run([sys.executable, check, recipe["mountpoint"], "--expect", EXPECT], check=False)
        if process.returncode:
            subprocess.run("journalctl -b -n 40 --no-pager", shell=True, check=False)
        return process.returncode
    finally:
        if units:
            # CLEAN makes systemd read everything again
            names = [os.path.basename(file["path"]) for file in units]
            subprocess.run(["systemctl", "disable", "--quiet", "--no-reload", *names], check=False)
        subprocess.run(CLEAN, shell=True, stderr=subprocess.DEVNULL, check=False)
        for file in units:
            Path(file["path"]).unlink()


if __name__ == "__main__":
    sys.exit(main())
