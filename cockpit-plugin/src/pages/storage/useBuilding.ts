// SPDX-License-Identifier: Apache-2.0
/** The way from a plan to a pool. The work is a unit of the server: it goes on without this page, which only looks. */
import { useCallback, useEffect, useRef, useState } from "react";
import type { Outputs } from "../../types/outputs";
import type { Result } from "../../lib/hooks";
import { useJob } from "../../lib/jobs";
import { follow, type CliError } from "../../lib/millrace";

export interface BuildingNow {
    /** 0 to 1; null while nobody knows. */
    progress: number | null;
    step: string | null;
}

export interface Building {
    /** What is going on; undefined where nothing is. */
    now: BuildingNow | undefined;
    error: CliError | undefined;
    approve: (sha256: string) => void;
}

type Line = Outputs["approve"];

function progressOf(line: Line): BuildingNow | undefined {
    return "done" in line ? { progress: line.total > 0 ? line.done / line.total : null, step: line.step } : undefined;
}

export function useBuilding(status: Result<Outputs["status"]>): Building {
    const [mine, setMine] = useState<BuildingNow>();
    const [error, setError] = useState<CliError>();
    const { at, reload } = status;
    const ended = useRef<Date | undefined>(undefined);
    const stop = useRef<AbortController | undefined>(undefined);
    useEffect(() => () => stop.current?.abort(), []);

    const approve = useCallback((sha256: string) => {
        const signal = (stop.current = new AbortController()).signal;
        setError(undefined);
        ended.current = undefined;
        setMine({ progress: null, step: null });
        follow("approve", [sha256], (line) => {
            const now = progressOf(line);
            if (now !== undefined) setMine(now);
        }, { admin: true, signal }).then(() => {
            if (signal.aborted) return;
            ended.current = new Date();
            setMine({ progress: 1, step: null });
            reload();
        }, (failed: CliError) => {
            setError(failed);
            setMine(undefined);
            reload();
        });
    }, [reload]);

    // The first status after the end has the pool, or what is shown is what the server says.
    useEffect(() => { if (ended.current !== undefined && at !== undefined && at > ended.current) setMine(undefined); }, [at]);

    // Begun elsewhere, or before this page was opened.
    const { now } = useJob("provision");
    const seen = now && { progress: now.progress, step: now.what };
    return { now: mine ?? seen, error, approve };
}
