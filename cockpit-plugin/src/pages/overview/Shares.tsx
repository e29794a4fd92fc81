// SPDX-License-Identifier: Apache-2.0
import type { JSX } from "react";
import { Panel } from "../../components/Panel";
import { Loaded } from "../../components/States";
import { Usage } from "../../components/Usage";
import { useVerb } from "../../lib/hooks";
import { _, format } from "../../lib/i18n";
import { link } from "../../lib/route";

/** Shares that fit; the page of shares lists all. */
const SHOWN = 5;
const EVERY = 60;

/** The shares with most in them. */
export function Shares(): JSX.Element {
    const pool = useVerb("pool show", [], { admin: "allowed", every: EVERY });
    return (
        <Panel title={_("Shares")} testId="shares" actions={<a href={link("shares")}>{_("All shares")}</a>}>
            <Loaded of={pool} what={_("Loading shares")}>
                {({ shares }) => (
                    <>
                        {shares.length === 0 && <p>{_("No shares.")}</p>}
                        <ul className="mr-clients">
                            {[...shares].sort((a, b) => (b.used ?? 0) - (a.used ?? 0)).slice(0, SHOWN).map((one) => (
                                <li key={one.name}>
                                    <a href={link("shares", one.name)}>{one.name}</a>
                                    <Usage label={format(_("Usage of $0"), one.name)} used={one.used} size={one.size} soft={one.soft_size} />
                                </li>
                            ))}
                        </ul>
                        {shares.length > SHOWN && <small>{format(_("and $0 more"), shares.length - SHOWN)}</small>}
                    </>
                )}
            </Loaded>
        </Panel>
    );
}
