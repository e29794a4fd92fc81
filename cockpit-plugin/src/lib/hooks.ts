// SPDX-License-Identifier: Apache-2.0
/** Documents of the program as React state. */
import { useCallback, useEffect, useRef, useState } from "react";
import type { Outputs } from "../types/outputs";
import { ask as askFor, CliError, run, type Options, type Verb } from "./millrace";
import { useMay } from "./permission";

/** A document that was asked for. After a failure `data` is what was known before. */
export interface Result<T> {
    data: T | undefined;
    error: CliError | undefined;
    /** When `data` was read. */
    at: Date | undefined;
    /** Asking right now. */
    busy: boolean;
    reload: () => void;
}

export interface ReadOptions extends Pick<Options, "schema" | "timeout"> {
    /** Read as root: true always (else it fails with "no-admin"), "allowed" where this session may, and else without. */
    admin?: boolean | "allowed";
    /** Seconds between an answer and the next question at least, see REST; none: asked once. Not while the page is hidden. */
    every?: number;
    /** Seconds between two questions while the page is hidden; none: not asked then. */
    everyHidden?: number;
    /** false: not asked (yet). */
    when?: boolean;
}

/** A server that is slow to answer has other work: it is left alone for so many times as long as its answer took, */
const REST = 4;
/** but no longer than this, in seconds: what hung once may be well again. */
const LONGEST_REST = 30;

/** What `millrace VERB ARGS --json` says, asked again when `args` change, every `every` seconds and on reload(). */
export function useVerb<V extends Verb>(verb: V, args: string[] = [], options: ReadOptions = {}): Result<Outputs[V]> {
    const { schema = 1, timeout, every, everyHidden } = options;
    const allowed = useMay("viewer");
    const wait = options.admin === "allowed" && allowed === null;
    const admin = options.admin === "allowed" ? allowed === true : options.admin ?? false;
    const when = (options.when ?? true) && !wait;
    const [state, setState] = useState<Omit<Result<Outputs[V]>, "reload">>(
        { data: undefined, error: undefined, at: undefined, busy: true });
    const again = useRef<() => void>(() => undefined);
    const words = JSON.stringify(args);

    useEffect(() => {
        if (!when) return undefined;
        const stop = new AbortController();
        let timer: ReturnType<typeof setTimeout> | undefined;
        let asking = false;
        let rest = 0;
        // Asked while a question was under way: what comes may be older than what caused it.
        let owed = false;
        const plan = () => {
            clearTimeout(timer);
            const seconds = cockpit.hidden ? everyHidden : every;
            if (seconds !== undefined && !stop.signal.aborted) timer = setTimeout(ask, Math.max(seconds, rest) * 1000);
        };
        const ask = () => {
            if (asking) { owed = true; return; }
            asking = true;
            clearTimeout(timer);
            const asked = performance.now();
            setState((before) => ({ ...before, busy: true }));
            askFor(verb, JSON.parse(words) as string[], { admin, schema, signal: stop.signal, ...(timeout !== undefined && { timeout }) })
                .then((data) => { if (!stop.signal.aborted) setState({ data, error: undefined, at: new Date(), busy: false }); },
                    (error: CliError) => { if (!stop.signal.aborted) setState((before) => ({ ...before, error, busy: false })); })
                .finally(() => {
                    asking = false;
                    rest = Math.min(REST * (performance.now() - asked) / 1000, LONGEST_REST);
                    if (owed && !stop.signal.aborted) { owed = false; ask(); } else plan();
                });
        };
        const seen = () => { if (cockpit.hidden) plan(); else if (every !== undefined) ask(); };
        again.current = ask;
        setState((before) => ({ ...before, busy: true }));
        ask();
        cockpit.addEventListener("visibilitychange", seen);
        return () => {
            stop.abort();
            clearTimeout(timer);
            cockpit.removeEventListener("visibilitychange", seen);
        };
    }, [verb, words, admin, schema, timeout, every, everyHidden, when]);

    const reload = useCallback(() => again.current(), []);
    return { ...state, reload };
}

/** A change under way: `go` starts it, `error` is the program's sentence, `busy` disables the button. */
export interface Change<V extends Verb> {
    busy: boolean;
    error: CliError | undefined;
    go: (args?: string[], input?: string) => Promise<Outputs[V] | undefined>;
    forget: () => void;
}

/** Run `millrace VERB … --json` as root when `go` is called; resolves to undefined where it failed. */
export function useChange<V extends Verb>(verb: V, options: Pick<Options, "schema" | "timeout"> = {}): Change<V> {
    const [state, setState] = useState<{ busy: boolean; error: CliError | undefined }>({ busy: false, error: undefined });
    const { schema = 1, timeout } = options;
    const go = useCallback(async (args: string[] = [], input = "") => {
        setState({ busy: true, error: undefined });
        try {
            const answer = await run(verb, args, { admin: true, input, schema, ...(timeout !== undefined && { timeout }) });
            setState({ busy: false, error: undefined });
            return answer;
        } catch (error) {
            setState({ busy: false, error: error as CliError });
            return undefined;
        }
    }, [verb, schema, timeout]);
    const forget = useCallback(() => setState({ busy: false, error: undefined }), []);
    return { ...state, go, forget };
}
