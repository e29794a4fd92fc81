// SPDX-License-Identifier: Apache-2.0
/**
 * What the pages use of Cockpit's base1 API, written from its public guide
 * (https://cockpit-project.org/guide/latest/api-base1.html): its own pkg/lib/cockpit.d.ts is LGPL-2.1-or-later. base1/cockpit.js is loaded from the server at run time.
 */
declare namespace cockpit {
    interface ProcessError {
        message: string;
        /** not-found, access-denied, terminated, …; null where the program ran and ended by itself. */
        problem: string | null;
        exit_status: number | null;
        exit_signal: string | null;
    }

    interface SpawnOptions {
        /** "try" is left out on purpose: it silently runs without rights. */
        superuser?: "require" | null;
        err?: "message" | "out" | "ignore";
        environ?: string[];
        directory?: string;
    }

    /** A thenable of jQuery's kind and no Promise: on failure the second argument is what the program had printed. */
    interface Spawn<Data = string> {
        then(done: (stdout: Data) => void, failed: (error: ProcessError, stdout?: Data) => void): unknown;
        input(text: string | Data, more?: boolean): Spawn<Data>;
        /** The callback returns how many characters it took; the rest comes again with the next ones. */
        stream(on: (text: Data) => number | undefined): Spawn<Data>;
        close(problem?: string): void;
    }

    interface EventSource<Name extends string> {
        addEventListener(name: Name, handler: () => void): void;
        removeEventListener(name: Name, handler: () => void): void;
    }

    interface Permission extends EventSource<"changed"> {
        /** null until it is known. */
        readonly allowed: boolean | null;
        readonly user: { name: string } | null;
        close(): void;
    }

    interface Location {
        readonly path: string[];
        readonly options: Record<string, string | string[]>;
        go(path: string | string[], options?: Record<string, string>): void;
        replace(path: string | string[], options?: Record<string, string>): void;
        encode(path: string | string[], options?: Record<string, string>): string;
    }
}

interface Cockpit extends cockpit.EventSource<"locationchanged" | "visibilitychange"> {
    readonly location: cockpit.Location;
    readonly hidden: boolean;
    readonly language: string;
    readonly transport: {
        wait(callback: () => void): void;
        control(command: string, options: object): void;
    };
    spawn(argv: string[], options?: cockpit.SpawnOptions): cockpit.Spawn;
    /** The output as bytes. */
    spawn(argv: string[], options: cockpit.SpawnOptions & { binary: true }): cockpit.Spawn<Uint8Array<ArrayBuffer>>;
    permission(options: { admin: true }): cockpit.Permission;
    /** gettext(text), or gettext(context, text). */
    gettext(textOrContext: string, text?: string): string;
    ngettext(one: string, many: string, n: number): string;
    format(template: string, ...values: unknown[]): string;
    locale(messages: object): void;
}

declare const cockpit: Cockpit;
