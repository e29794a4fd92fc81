// SPDX-License-Identifier: Apache-2.0
import type { JSX } from "react";

export function Legend({ label, entries }: { label: string; entries: { name: string; tone: number }[] }): JSX.Element {
    return (
        <ul className="mr-legend" aria-label={label}>
            {entries.map(({ name, tone }) => <li key={name}><span className={`mr-swatch mr-tone-${tone}`} aria-hidden="true" />{name}</li>)}
        </ul>
    );
}
