// SPDX-License-Identifier: Apache-2.0
import { useEffect, useState } from "react";

/** Milliseconds without a keystroke before the program is asked. */
const PAUSE = 500;

/** `words` as they were when nothing had changed for a moment. */
export function useDebounced(words: string[]): string[] {
    const text = JSON.stringify(words);
    const [settled, setSettled] = useState(text);
    useEffect(() => {
        const timer = setTimeout(() => setSettled(text), PAUSE);
        return () => clearTimeout(timer);
    }, [text]);
    return JSON.parse(settled) as string[];
}
