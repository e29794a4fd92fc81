// SPDX-License-Identifier: Apache-2.0
/** What a change of drives will write, as its dry run shows it: all drives are examined for it, and none is written. */
import { useEffect, type JSX } from "react";
import type { DriveProposal } from "../../types/millrace";
import { ProgressEta } from "../../components/ProgressEta";
import { ErrorAlert } from "../../components/States";
import { useVerb, type Result } from "../../lib/hooks";
import { _ } from "../../lib/i18n";
import type { CliError } from "../../lib/millrace";
import { about, type ChangeVerb } from "./change-words";

/** Seconds: each drive is probed. */
const PATIENCE = 180;

export interface Proposed extends Pick<Result<DriveProposal>, "error" | "busy" | "reload"> {
    proposal: DriveProposal | undefined;
}

/** The dry run of a verb for a drive, and for `fresh` in its place; asked again after the change was `refused`. */
export function useProposal(verb: Exclude<ChangeVerb, "grow">, serial: string, refused: CliError | undefined, fresh?: string, when = true): Proposed {
    const args = fresh === undefined ? [serial] : [serial, `--with=${fresh}`];
    const { data, error, busy, reload } = useVerb(`drive ${verb} --dry-run`, args, { admin: true, timeout: PATIENCE, when });
    useEffect(() => { if (refused !== undefined) reload(); }, [refused, reload]);
    // What was shown of another drive is not what will be written.
    const same = verb === "remove" ? data?.plan.old?.serial === serial : data?.plan.new?.serial === (fresh ?? serial);
    return { proposal: when && !busy && error === undefined && same ? data : undefined, error: when && !busy ? error : undefined, busy: when && busy, reload };
}

export function Proposal({ of }: { of: Proposed }): JSX.Element {
    const { proposal, error, busy, reload } = of;
    if (busy) return <ProgressEta title={_("Examining all drives")} progress={null} />;
    if (proposal === undefined) return <ErrorAlert error={error} retry={reload} />;
    const { plan, steps, sha256, differences } = proposal;
    return (
        <div className="mr-stack" data-testid="proposal">
            <dl className="mr-pairs">
                {plan.old && <div><dt>{plan.new ? _("Old drive") : _("Drive")}</dt><dd>{about(plan.old)}</dd></div>}
                {plan.new && <div><dt>{_("New drive, which is written")}</dt><dd>{about(plan.new)}</dd></div>}
            </dl>
            {differences.length > 0 && (
                <div data-testid="differences">
                    <p>{_("Differences between the new drive and its neighbours:")}</p>
                    <ul>{differences.map((one) => <li key={one}>{one}</li>)}</ul>
                </div>
            )}
            <ol>{steps.map((one) => <li key={one}>{one}</li>)}</ol>
            <small className="mr-subtle">{_("Hash of this change:")} <code className="mr-hash">{sha256}</code></small>
        </div>
    );
}
