// SPDX-License-Identifier: Apache-2.0
/** A Cockpit with a server behind it that says what a test tells it to, with base1's traps (facts of version 372). */

export interface Call {
    argv: string[];
    options: cockpit.SpawnOptions;
    input: string;
    /** Bytes of its input, where it takes bytes, and whether that has ended. */
    bytes: number;
    ended: boolean;
    /** What a program does that reads lines while it runs. */
    heard?: (text: string) => void;
    /** Why the page ended it; undefined while it runs. */
    closed: string | undefined;
    /** The program prints and goes on. */
    print(text: string): void;
    /** It ends well; `stdout` is what is printed last. */
    end(stdout?: string): void;
    fail(error: Partial<cockpit.ProcessError>, stdout?: string): void;
}

type Answer = (call: Call) => void;

const answers = new Map<string, Answer>();
export const calls: Call[] = [];
export const notified: object[] = [];
const listeners = { locationchanged: new Set<() => void>(), visibilitychange: new Set<() => void>(), permission: new Set<() => void>() };
let admin: boolean | null = true;
let hidden = false;
let catalogue: Record<string, (string | null)[]> = {};

function location(path: string[], options: Record<string, string> = {}): cockpit.Location {
    return {
        path,
        options,
        encode: (to) => `/${(typeof to === "string" ? [to] : to).map(encodeURIComponent).join("/")}`,
        go: (to, chosen) => { move(typeof to === "string" ? to.split("/").filter(Boolean) : to, chosen); },
        replace: (to, chosen) => { move(typeof to === "string" ? to.split("/").filter(Boolean) : to, chosen); },
    };
}
let where = location([]);

function move(path: string[], options: Record<string, string> = {}): void {
    where = location(path, options);
    for (const listener of listeners.locationchanged) listener();
}

/** The words of a call of the program, also by sudo: the program first. */
const line = (argv: string[]) => (argv[0] === "sudo" ? argv.slice(2) : argv);

function spawn(argv: string[], options: cockpit.SpawnOptions & { binary?: true } = {}): cockpit.Spawn {
    let done: (stdout: string) => void = () => undefined;
    let failed: (error: cockpit.ProcessError, stdout?: string) => void = () => undefined;
    let on: ((text: string) => number | undefined) | undefined;
    let buffer = "";
    let over = false;
    // Each callback comes later, as from a socket.
    const later = (what: () => void) => queueMicrotask(what);
    const call: Call = {
        argv,
        options,
        input: "",
        bytes: 0,
        ended: false,
        closed: undefined,
        print(text) {
            later(() => {
                if (over) return;
                buffer += text;
                // Bytes where bytes were asked for.
                if (on && options.binary) { on(new TextEncoder().encode(buffer) as unknown as string); buffer = ""; }
                else if (on) buffer = buffer.slice(on(buffer) ?? buffer.length);
            });
        },
        end(stdout = "") {
            this.print(stdout);
            // Bytes where bytes were asked for.
            const said = () => (options.binary ? new TextEncoder().encode(buffer) as unknown as string : buffer);
            later(() => { if (!over) { over = true; done(said()); } });
        },
        fail(error, stdout = "") {
            this.print(stdout);
            later(() => {
                if (over) return;
                over = true;
                const whole = { message: "", problem: null, exit_status: null, exit_signal: null, ...error };
                // base1: a problem of the channel comes without what was printed.
                if (whole.problem === null) failed(whole, buffer); else failed(whole);
            });
        },
    };
    // Pages ask it first, always; without it they start the program, which is what most tests look at.
    const answerer = line(argv)[1] === "answer";
    if (!answerer || answers.has("answer")) calls.push(call);
    const process: cockpit.Spawn = {
        // Not a Promise: both callbacks get all arguments, and nothing is chained.
        then(ok, no) { done = ok; failed = no; return undefined; },
        input(text: string | Uint8Array, more) {
            call.ended = !more;
            if (typeof text === "string") call.input += text; else call.bytes += text.length;
            later(() => call.heard?.(typeof text === "string" ? text : ""));
            return process;
        },
        stream(handler) { on = handler; return process; },
        close(problem = "terminated") {
            if (over) return;
            call.closed = problem;
            call.fail({ problem, message: problem });
        },
    };
    const whole = line(argv);
    const words = whole.slice(1, whole.includes("--json") ? whole.indexOf("--json") : undefined);
    const verb = [...answers.keys()].filter((one) => `${words.join(" ")} `.startsWith(`${one} `)).sort((a, b) => b.length - a.length)[0];
    later(() => {
        if (options.superuser === "require" && admin !== true) call.fail({ problem: "access-denied", message: "Not permitted to perform this action." });
        else if (verb === undefined) call.fail({ exit_status: 2, message: `millrace: No such command '${words.join(" ")}'. See 'millrace --help'.` });
        else answers.get(verb)?.(call);
    });
    return process;
}

const source = (name: "locationchanged" | "visibilitychange") => ({
    add: (handler: () => void) => listeners[name].add(handler),
    remove: (handler: () => void) => listeners[name].delete(handler),
});

const fake: Cockpit = {
    get location() { return where; },
    get hidden() { return hidden; },
    language: "en",
    transport: {
        wait: (callback) => { callback(); },
        control: (_command, options) => { notified.push(options); },
    },
    addEventListener: (name, handler) => { source(name).add(handler); },
    removeEventListener: (name, handler) => { source(name).remove(handler); },
    spawn: spawn as Cockpit["spawn"],
    permission: () => ({
        get allowed() { return admin; },
        user: { name: "admin" },
        addEventListener: (_name, handler) => { listeners.permission.add(handler); },
        removeEventListener: (_name, handler) => { listeners.permission.delete(handler); },
        close: () => undefined,
    }),
    gettext: (context, text) => catalogue[text === undefined ? context : `${context}\u0004${text}`]?.[1] ?? text ?? context,
    ngettext: (one, many, n) => catalogue[one]?.[n === 1 ? 1 : 2] ?? (n === 1 ? one : many),
    format: (template, ...values) => template.replace(/\$(\d)/g, (_all, index: string) => String(values[Number(index)] ?? "")),
    locale: (messages) => { catalogue = messages as typeof catalogue; },
};

/** `millrace VERB` prints `document`, every time. */
export function says(verb: string, document: object): void {
    answers.set(verb, (call) => call.end(`${JSON.stringify(document, null, 2)}\n`));
}

/** `millrace VERB` does what `answer` does. */
export function does(verb: string, answer: Answer): void {
    answers.set(verb, answer);
}

/** `millrace VERB` refuses with its sentence on stderr. */
export function refuses(verb: string, sentence: string): void {
    answers.set(verb, (call) => call.fail({ exit_status: 1, message: `millrace: ${sentence}` }));
}

export function setAdmin(allowed: boolean | null): void {
    admin = allowed;
    for (const listener of listeners.permission) listener();
}

export function setHidden(value: boolean): void {
    hidden = value;
    for (const listener of listeners.visibilitychange) listener();
}

export const open = (path: string[]): void => move(path);

/** What was started as `millrace VERB`. */
export function started(verb: string): Call[] {
    return calls.filter(({ argv }) => line(argv).slice(1).join(" ").startsWith(verb));
}

export function reset(): void {
    answers.clear();
    calls.length = 0;
    notified.length = 0;
    catalogue = {};
    admin = true;
    hidden = false;
    where = location([]);
}

Object.assign(globalThis, { cockpit: fake });
