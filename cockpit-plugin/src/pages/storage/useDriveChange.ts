// SPDX-License-Identifier: Apache-2.0
/** A change of drives: started here, carried out by a unit of the server. What is shown is what its journal says. */
import { useCallback, useEffect, useRef, useState } from "react";
import type { ChangeProgress } from "../../types/millrace";
import type { Outputs } from "../../types/outputs";
import type { Result } from "../../lib/hooks";
import { follow, type CliError } from "../../lib/millrace";
import { changeState, type ChangeState, type ChangeVerb } from "./change-words";

export interface DriveChanging {
    /** The change that goes on or was stopped, or was seen here to end; undefined where one can be begun. */
    now: ChangeProgress | undefined;
    state: ChangeState;
    /** Confirmed here, and not yet begun. */
    busy: boolean;
    error: CliError | undefined;
    go: (args: string[]) => void;
    /** Begin another one after this one. */
    forget: () => void;
}

export function useDriveChange(verb: ChangeVerb, progress: Result<Outputs["drive progress"]>, onDone: () => void): DriveChanging {
    const [mine, setMine] = useState<string>();
    const [left, setLeft] = useState<string>();
    const [busy, setBusy] = useState(false);
    const [error, setError] = useState<CliError>();
    const stop = useRef<AbortController | undefined>(undefined);
    useEffect(() => () => stop.current?.abort(), []);
    const { reload } = progress;
    const last = progress.data?.change ?? undefined;
    const state = changeState(last);
    const id = last?.change.id;
    // Begun elsewhere, or before this page was opened: its end is shown, too.
    if (id !== undefined && state === "running" && mine !== id) setMine(id);

    const go = useCallback((args: string[]) => {
        const signal = (stop.current = new AbortController()).signal;
        setBusy(true);
        setError(undefined);
        const over = (failed?: CliError) => {
            if (signal.aborted) return;
            setBusy(false);
            setError(failed);
            reload();
            onDone();
        };
        follow(verb === "grow" ? "pool grow" : `drive ${verb}`, args, (line) => {
            if (!("change" in line)) return;
            setMine(line.change.id);
            reload();
        }, { admin: true, signal }).then(() => over(), over);
    }, [verb, reload, onDone]);
    const forget = useCallback(() => { setLeft(id); setError(undefined); }, [id]);

    const seen = last !== undefined && (state === "running" || (left !== id && (state === "stopped" || mine === id)));
    return { now: seen ? last : undefined, state: seen ? state : "none", busy, error: seen ? undefined : error, go, forget };
}
