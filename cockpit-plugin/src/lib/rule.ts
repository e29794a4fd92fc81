// SPDX-License-Identifier: Apache-2.0
/** Rules of what may be typed; types/rules.ts is made of them. */
import { format } from "./i18n";

/** What is wrong with a text, or undefined. */
export type Rule = (text: string) => string | undefined;

/** Of the first pattern that the whole text does not match the sentence; $0 is the text, $1 the number of its characters. */
export function rule(...checks: (readonly [pattern: string, sentence: () => string])[]): Rule {
    const compiled = checks.map(([pattern, sentence]) => ({ whole: new RegExp(`^(?:${pattern})$`, "su"), sentence }));
    return (text) => {
        const failed = compiled.find(({ whole }) => !whole.test(text));
        return failed && format(failed.sentence(), quoted(text), [...text].length);
    };
}

function quoted(text: string): string {
    const characters = [...text];
    return `'${characters.slice(0, 40).join("")}${characters.length > 40 ? "…" : ""}'`;
}
