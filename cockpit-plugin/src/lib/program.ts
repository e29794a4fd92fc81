// SPDX-License-Identifier: Apache-2.0
/** How the program on the server is started. */
export const PROGRAM = "millrace";

const options = (admin: boolean) => ({
    superuser: admin ? "require" as const : null,
    err: "message" as const,
    // Output is compared and shown as it is: it must not depend on the language of the session.
    environ: ["LC_ALL=C.UTF-8"],
});

/** Start `millrace WORDS`; as root it fails at once where this session may not. */
export function started(words: string[], admin: boolean): cockpit.Spawn {
    return cockpit.spawn([PROGRAM, ...words], options(admin));
}

/** The same where what it prints is bytes. */
export function startedForBytes(words: string[], admin: boolean): cockpit.Spawn<Uint8Array<ArrayBuffer>> {
    return cockpit.spawn([PROGRAM, ...words], { ...options(admin), binary: true });
}

/** How many characters of `text` are whole lines, after each of them was handed to `on`. */
export function lines(text: string, on: (line: string) => void): number {
    const end = text.lastIndexOf("\n") + 1;
    for (const line of text.slice(0, end).split("\n")) if (line.trim()) on(line);
    return end;
}
