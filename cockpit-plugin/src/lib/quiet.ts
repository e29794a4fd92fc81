// SPDX-License-Identifier: Apache-2.0
import { useEffect, useState } from "react";

/** Milliseconds without a keystroke before the program is asked. */
const QUIET = 500;

/** `words` as they were when nothing had changed for a moment. */
export function useQuiet(words: string[]): string[] {
    const text = JSON.stringify(words);
    const [quiet, setQuiet] = useState(text);
    useEffect(() => {
        const timer = setTimeout(() => setQuiet(text), QUIET);
        return () => clearTimeout(timer);
    }, [text]);
    return JSON.parse(quiet) as string[];
}
