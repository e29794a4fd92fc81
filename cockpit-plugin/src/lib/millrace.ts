// SPDX-License-Identifier: Apache-2.0
/** The one way to the program on the server: every page reads and changes through `millrace … --json`. */
import type { Outputs } from "../types/outputs";
import { asked, type Question } from "./answers";
import { _, format } from "./i18n";
import { lines, PROGRAM, started, startedForBytes } from "./program";

/** The words of a verb, e.g. "share list". What it takes besides comes after them. */
export type Verb = keyof Outputs;

export const TIMEOUT_SECONDS = 60;
/** Characters of unreadable output that an error keeps for the support. */
const KEPT = 1000;

export type ErrorKind =
    /** The program ran and said no; the message is its sentence. */
    | "refused"
    /** Administrative access is needed. */
    | "no-admin"
    /** The program is not on this server. */
    | "missing"
    /** It did not answer in time. */
    | "timeout"
    /** It was killed, or the connection went away. */
    | "died"
    /** What it printed is no JSON. */
    | "garbage"
    /** It speaks another version of the contract than this page. */
    | "schema";

/** Why a verb has no result, in one sentence for a person; `hint` says what to do where the sentence does not. */
export class CliError extends Error {
    constructor(readonly kind: ErrorKind, readonly verb: string, message: string, readonly hint: string, readonly output = "") {
        super(message);
        this.name = "CliError";
    }
}

const support = () => _("Try again. If the problem persists, report this page and the output of `journalctl -b -p warning`.");

/** How the program's own sentences begin on stderr; what does not is a crash, or the words of another program. */
const OWN = "millrace: ";

/** The program's own sentence: the last line of stderr. base1 puts "millrace exited with code 1" where stderr is empty. */
function sentence(stderr: string): string {
    const last = stderr.trim().split("\n").at(-1) ?? "";
    return last.startsWith(OWN) ? last.slice(OWN.length) : "";
}

export function failure(verb: string, error: cockpit.ProcessError, stdout = ""): CliError {
    switch (error.problem) {
    case "access-denied":
        return new CliError("no-admin", verb, _("Requires administrative access."),
            _("Switch from limited to administrative access at the top of the page."));
    case "not-found":
        return new CliError("missing", verb, _("The command millrace is not installed on this server."),
            _("These pages require a server that runs a Millrace image."));
    }
    if (error.exit_status !== null && error.exit_status > 0) {
        const said = sentence(error.message);
        return said
            ? new CliError("refused", verb, said, "")
            : new CliError("died", verb, format(_("`$0` failed with status $1 and no error message."), verb, error.exit_status),
                support(), kept(error.message, stdout));
    }
    const why = error.exit_signal ?? error.problem ?? error.message;
    return new CliError("died", verb, format(_("`$0` exited without a reply ($1)."), verb, why), support(), kept(stdout));
}

/** The end of what was printed: a traceback says at its end what happened. */
function kept(...printed: string[]): string {
    return printed.map((text) => text.trim()).filter(Boolean).join("\n").slice(-KEPT);
}

/** `text` as a document of version `schema`; throws CliError where it is none. */
export function parsed<T>(verb: string, text: string, schema: number): T {
    let document: unknown;
    try {
        document = JSON.parse(text);
    } catch {
        throw new CliError("garbage", verb, format(_("`$0` printed invalid output."), verb),
            support(), text.slice(0, KEPT));
    }
    const version = documentVersion(document);
    if (version !== schema)
        throw new CliError("schema", verb,
            format(_("This page and the command millrace are incompatible ($0: version $1, expected $2)."), verb,
                version ?? _("none"), schema),
            _("Reload the page. After an update, log out and in again."), text.slice(0, KEPT));
    return document as T;
}

function documentVersion(document: unknown): number | undefined {
    if (typeof document !== "object" || document === null) return undefined;
    const { schema, schema_version } = document as { schema?: unknown; schema_version?: unknown };
    const version = schema ?? schema_version;
    return typeof version === "number" ? version : undefined;
}

export interface Options {
    /** Run as root; without administrative access it fails at once with kind "no-admin". */
    admin?: boolean;
    /** Written to the program's stdin; the only place for a secret. */
    input?: string;
    /** Version of the document that the caller understands. */
    schema?: number;
    /** 0: as long as it takes. */
    timeout?: number;
    /** Stops it (SIGTERM). */
    signal?: AbortSignal;
}

const spelled = (verb: Verb, args: string[]) => [...verb.split(" "), ...args, "--json"];

/** What a person can type to see the same: without the arguments, which may be long. */
const named = (verb: Verb) => `${PROGRAM} ${verb}`;

/** The document of a verb that says no in a document, as `plan` does: status 1 and nothing on stderr. */
function answer<T>(verb: string, error: cockpit.ProcessError, stdout: string | undefined, schema: number): T | undefined {
    if (error.problem !== null || error.exit_status !== 1 || sentence(error.message) || !stdout) return undefined;
    try {
        return parsed<T>(verb, stdout, schema);
    } catch {
        return undefined;
    }
}

/** The document that a question to `verb` brings; rejects with CliError only. */
function documentOf<V extends Verb>(question: Question, verb: string, options: Options): Promise<Outputs[V]> {
    const schema = options.schema ?? 1;
    const seconds = options.timeout ?? TIMEOUT_SECONDS;
    // cockpit.spawn() is no Promise, and await on it would lose what was printed before a failure.
    return new Promise((resolve, reject) => {
        const late = new CliError("timeout", verb, format(_("`$0` timed out after $1 seconds."), verb, seconds), support());
        const timer = seconds > 0 ? setTimeout(() => { reject(late); question.close("timeout"); }, seconds * 1000) : undefined;
        const abort = () => question.close("cancelled");
        options.signal?.addEventListener("abort", abort, { once: true });
        const over = () => { clearTimeout(timer); options.signal?.removeEventListener("abort", abort); };
        question.then((stdout) => {
            over();
            try {
                resolve(parsed(verb, stdout, schema));
            } catch (error) {
                reject(error as CliError);
            }
        }, (error, stdout) => {
            over();
            const said = answer<Outputs[V]>(verb, error, stdout, schema);
            if (said === undefined) reject(failure(verb, error, stdout)); else resolve(said);
        });
    });
}

/** The document that `millrace VERB ARGS --json` prints where it only looks; rejects with CliError only. */
export function ask<V extends Verb>(of: V, args: string[] = [], options: Omit<Options, "input"> = {}): Promise<Outputs[V]> {
    return documentOf<V>(asked(spelled(of, args), options.admin ?? false), named(of), options);
}

/** The document that `millrace VERB ARGS --json` prints where it changes something; rejects with CliError only. */
export function run<V extends Verb>(of: V, args: string[] = [], options: Options = {}): Promise<Outputs[V]> {
    const process = started(spelled(of, args), options.admin ?? false);
    const said = documentOf<V>(process, named(of), options);
    // Also where there is nothing to say: a program that reads stdin must see its end.
    process.input(options.input ?? "");
    return said;
}

/**
 * Hand each JSON line that `millrace VERB ARGS --json` prints to `on`, until it ends (resolves), fails (rejects with CliError)
 * or `options.signal` stops it (resolves). A line that cannot be read stops it.
 */
export function follow<V extends Verb>(
    of: V, args: string[], on: (document: Outputs[V]) => void, options: Options = {},
): Promise<void> {
    const verb = named(of);
    return new Promise((resolve, reject) => {
        if (options.signal?.aborted) { resolve(); return; }
        const process = started(spelled(of, args), options.admin ?? false);
        let broken: CliError | undefined;
        const abort = () => process.close("cancelled");
        options.signal?.addEventListener("abort", abort, { once: true });
        const over = () => options.signal?.removeEventListener("abort", abort);
        process.stream((text) => lines(text, (line) => {
            if (broken !== undefined || options.signal?.aborted) return;
            try {
                on(parsed(verb, line, options.schema ?? 1));
            } catch (error) {
                broken = error as CliError;
                process.close("garbage");
            }
        }));
        process.then((rest) => {
            over();
            if (broken === undefined && rest.trim() && !options.signal?.aborted)
                broken = new CliError("garbage", verb, format(_("The output of `$0` is truncated."), verb), support(), rest.slice(0, KEPT));
            if (broken === undefined) resolve(); else reject(broken);
        }, (error, rest) => {
            over();
            if (options.signal?.aborted) resolve();
            else reject(broken ?? failure(verb, error, rest));
        });
        process.input(options.input ?? "");
    });
}

/** The bytes that `millrace WORDS` writes to its standard output, to be saved as a file; rejects with CliError only. */
export function fetchFile(words: string[], options: Pick<Options, "admin"> = {}): Promise<Uint8Array<ArrayBuffer>> {
    const verb = [PROGRAM, ...words].join(" ");
    return new Promise((resolve, reject) => {
        const process = startedForBytes(words, options.admin ?? false);
        process.then(resolve, (error) => reject(failure(verb, error)));
        process.input("");
    });
}
