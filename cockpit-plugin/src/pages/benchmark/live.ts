// SPDX-License-Identifier: Apache-2.0
/** The run that is on: it belongs to the server, the page only watches, and finds it again after a reload. */
import { useCallback, useEffect, useState } from "react";
import type { Rung } from "../../types/millrace";
import type { Outputs } from "../../types/outputs";
import { follow, type CliError } from "../../lib/millrace";

type Line = Outputs["bench follow"];

/** Points of the live chart: five minutes at one a second. */
export const SHOWN = 300;
const PAUSE_SECONDS = 5;

export interface Live {
    /** undefined until the program has said something; null where nothing ran since the server was started. */
    last: Line | null | undefined;
    points: Pick<Line, "time" | "bandwidth" | "operations">[];
    finished: Rung[];
    error: CliError | undefined;
}

export const NOTHING: Live = { last: undefined, points: [], finished: [], error: undefined };

/** `live` after another line; a line of another run begins anew. */
export function after(live: Live, line: Line): Live {
    const same = live.last?.run === line.run ? live : NOTHING;
    const { time, bandwidth, operations } = line;
    return {
        last: line,
        points: [...same.points, { time, bandwidth, operations }].slice(-SHOWN),
        finished: line.finished === null ? same.finished : [...same.finished, line.finished],
        error: undefined,
    };
}

export const isRunning = ({ last }: Live): boolean => last?.state === "running" || last?.state === "pending";

/** Follow the run that is on, or the last one; `again` looks for a new one. */
export function useFollow(): Live & { again: () => void } {
    const [live, setLive] = useState<Live>(NOTHING);
    const [round, setRound] = useState(0);
    useEffect(() => {
        const stop = new AbortController();
        let timer: ReturnType<typeof setTimeout> | undefined;
        // All lines of the run come at once after a reload: they are drawn together.
        let waiting: Line[] = [];
        let frame: ReturnType<typeof setTimeout> | undefined;
        const draw = () => {
            const lines = waiting;
            waiting = [];
            frame = undefined;
            if (!stop.signal.aborted) setLive((before) => lines.reduce(after, before));
        };
        let heard = false;
        // What was known of this run comes again from its first line.
        setLive((before) => ({ ...before, points: [], finished: [] }));
        follow("bench follow", [], (line) => {
            heard = true;
            waiting.push(line);
            frame ??= setTimeout(draw, 100);
        }, { signal: stop.signal }).then(
            () => {
                if (frame !== undefined) { clearTimeout(frame); draw(); }
                if (!heard && !stop.signal.aborted) setLive({ ...NOTHING, last: null });
            },
            (error: CliError) => {
                // "no benchmark ran": an answer, not a fault.
                if (error.kind === "refused") { setLive({ ...NOTHING, last: null }); return; }
                setLive((before) => ({ ...before, error }));
                timer = setTimeout(() => setRound((before) => before + 1), PAUSE_SECONDS * 1000);
            });
        return () => {
            stop.abort();
            clearTimeout(timer);
            clearTimeout(frame);
        };
    }, [round]);
    const again = useCallback(() => setRound((before) => before + 1), []);
    return { ...live, again };
}
