// SPDX-License-Identifier: Apache-2.0
import type { JSX } from "react";
import type { Share } from "../../types/millrace";
import { Panel } from "../../components/Panel";
import { Usage } from "../../components/Usage";
import { _, format } from "../../lib/i18n";
import { link } from "../../lib/route";

/** Shares that fit; the page of shares lists all. */
const SHOWN = 5;

/** The shares with most in them. */
export function Shares({ shares }: { shares: readonly Share[] }): JSX.Element {
    const largest = [...shares].sort((a, b) => (b.used ?? 0) - (a.used ?? 0));
    return (
        <Panel title={_("Shares")} testId="shares" actions={<a href={link("shares")}>{_("All shares")}</a>}>
            {shares.length === 0 && <p>{_("No shares.")}</p>}
            <ul className="mr-clients">
                {largest.slice(0, SHOWN).map((one) => (
                    <li key={one.name}>
                        <a href={link("shares", one.name)}>{one.name}</a>
                        <Usage label={format(_("Usage of $0"), one.name)} used={one.used} size={one.size} soft={one.soft_size} />
                    </li>
                ))}
            </ul>
            {shares.length > SHOWN && <small>{format(_("and $0 more"), shares.length - SHOWN)}</small>}
        </Panel>
    );
}
