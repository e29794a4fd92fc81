// SPDX-License-Identifier: Apache-2.0
import type { JSX } from "react";
import { PageHeader } from "../../components/PageHeader";
import { Loaded } from "../../components/States";
import { useVerb } from "../../lib/hooks";
import { _, format } from "../../lib/i18n";
import { link } from "../../lib/route";
import { LightPanel } from "./LightPanel";
import { SnapshotsPanel } from "./SnapshotsPanel";

const EVERY = 30;

/** The copies of one share at each place, and its snapshots. */
export function ShareProtection({ name }: { name: string }): JSX.Element {
    const shown = useVerb("protection show", [name], { admin: "allowed", every: EVERY });
    // A share of another server has no snapshots that are managed here.
    const own = shown.data?.shares.some(({ lights }) => lights.some(({ place }) => place === "here")) === true;
    const details = useVerb("share show", [name], { admin: "allowed", when: own });
    const changed = () => { shown.reload(); details.reload(); };
    return (
        <>
            <PageHeader title={format(_("Protection of $0"), name)}>
                <a href={link("protection")}>{_("All shares")}</a>{own && <>{" · "}<a href={link("shares", "show", name)}>{format(_("Share $0"), name)}</a></>}
            </PageHeader>
            <Loaded of={shown} what={_("Loading protection")}>
                {({ shares }) => (
                    <div className="mr-grid">
                        {shares.flatMap(({ lights }) => lights).map((light) => <LightPanel key={light.place} light={light} />)}
                    </div>
                )}
            </Loaded>
            {own && (
                <Loaded of={details} what={_("Loading the share")}>
                    {({ share }) => <SnapshotsPanel share={share} onChanged={changed} />}
                </Loaded>
            )}
        </>
    );
}
