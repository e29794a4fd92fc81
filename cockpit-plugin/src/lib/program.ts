// SPDX-License-Identifier: Apache-2.0
/** How the program on the server is started. */
export const PROGRAM = "millrace";

/** sudoers.d/millrace names this path, and no password is asked for. */
const SUDO = ["sudo", "-n", "/usr/bin/millrace"];
let sudo = false;

/** Whether root's rights come by sudo from now on, for a session that has no administrative access. */
export function viaSudo(on: boolean): void {
    sudo = on;
}

const command = (words: string[], admin: boolean) => [...(admin && sudo ? SUDO : [PROGRAM]), ...words];

const options = (admin: boolean) => ({
    superuser: admin && !sudo ? "require" as const : null,
    err: "message" as const,
    // Output is compared and shown as it is: it must not depend on the language of the session.
    environ: ["LC_ALL=C.UTF-8"],
});

/** Start `millrace WORDS`; as root it fails at once where this session may not. */
export function started(words: string[], admin: boolean): cockpit.Spawn {
    return cockpit.spawn(command(words, admin), options(admin));
}

/** The same where what it prints is bytes. */
export function startedForBytes(words: string[], admin: boolean): cockpit.Spawn<Uint8Array<ArrayBuffer>> {
    return cockpit.spawn(command(words, admin), { ...options(admin), binary: true });
}

/** How many characters of `text` are whole lines, after each of them was handed to `on`. */
export function lines(text: string, on: (line: string) => void): number {
    const end = text.lastIndexOf("\n") + 1;
    for (const line of text.slice(0, end).split("\n")) if (line.trim()) on(line);
    return end;
}
