// SPDX-License-Identifier: Apache-2.0
import { useState, type JSX, type ReactNode } from "react";
import type { DriveName, Plan, Refusal } from "../../types/millrace";
import { AdminButton } from "../../components/AdminButton";
import { Verdict } from "../../components/Health";
import { JobPanel } from "../../components/JobView";
import { Panel } from "../../components/Panel";
import { ErrorAlert, Loaded } from "../../components/States";
import { binary, bytes } from "../../lib/format";
import { useChange, useVerb } from "../../lib/hooks";
import { _, format } from "../../lib/i18n";
import type { CliError } from "../../lib/millrace";
import { Findings } from "../server/Findings";
import { ApproveDialog } from "./ApproveDialog";
import { Decisions } from "./Decisions";
import { DrivesPanel } from "./DrivesPanel";
import { Layouts } from "./Layouts";
import { PlannedArrays } from "./PlannedArrays";
import { Prediction } from "./Prediction";
import { UnusedDrives } from "./UnusedDrives";
import { useDrives } from "./useDrives";

/** A drive that answers slowly is not a reason to give up. */
const LOOKING_SECONDS = 600;

export function PlanPage({ approve, error }: { approve: (sha256: string) => void; error: CliError | undefined }): JSX.Element {
    // Others may look at the drives again, or change the policy.
    const [layout, setLayout] = useState<string>();
    const plan = useVerb("plan", layout === undefined ? [] : [`--layout=${layout}`], { every: 30 });
    const drives = useDrives();
    const looking = useChange("plan", { timeout: LOOKING_SECONDS });
    const again = (
        <AdminButton variant="secondary" isLoading={looking.busy} isDisabled={looking.busy}
            onClick={() => { void looking.go(["--again"]).then(() => { plan.reload(); drives.reload(); }); }}>{_("Rescan drives")}</AdminButton>
    );
    return (
        <>
            <ErrorAlert error={error} />
            <ErrorAlert error={looking.error} />
            <JobPanel kind="erase" />
            <Loaded of={plan} what={_("Loading plan")}>
                {({ proposal, sha256 }) => (proposal.verdict === "refused" || sha256 === null
                    ? <Refused refusal={proposal as Refusal} again={again} />
                    : <Ready plan={proposal} sha256={sha256} approve={approve} again={again} onLayout={setLayout} />)}
            </Loaded>
            <DrivesPanel drives={drives} />
        </>
    );
}

function Ready({ plan, sha256, approve, again, onLayout }: {
    plan: Plan; sha256: string; approve: (sha256: string) => void; again: ReactNode; onLayout: (name: string | undefined) => void;
}): JSX.Element {
    // The dialog is about the plan that was on the page when it was opened; another plan is another dialog.
    const [asked, ask] = useState<{ plan: Plan; sha256: string }>();
    return (
        <>
            <Verdict id="plan" level="WARN" title={_("No pool yet: this plan awaits approval")}>
                <p><strong>{plan.title}</strong></p>
                <p>{format(_("Usable capacity: $0 ($1), before metadata of md and XFS."), bytes(plan.capacity), binary(plan.capacity))}</p>
                <div className="mr-actions">
                    <AdminButton variant="primary" onClick={() => ask({ plan, sha256 })}>{_("Approve…")}</AdminButton>
                    {again}
                </div>
                <small className="mr-subtle">{_("Plan")} <code className="mr-hash" data-testid="plan-hash">{sha256}</code></small>
            </Verdict>
            {plan.backend === "md" && <Layouts shown={sha256} onShow={onLayout} />}
            {plan.warnings.map((text) => <p key={text} className="mr-note-warn">{text}</p>)}
            <div className="mr-grid">
                <PlannedArrays plan={plan} />
                <UnusedDrives drives={plan.drives} />
            </div>
            {plan.prediction !== null && <Prediction outcomes={plan.prediction.outcomes} />}
            <Decisions decisions={plan.decisions} />
            <Findings findings={plan.findings} />
            {asked && (
                <ApproveDialog plan={asked.plan} sha256={asked.sha256} changed={asked.sha256 !== sha256} onClose={() => ask(undefined)}
                    onConfirm={() => { approve(asked.sha256); ask(undefined); }} />
            )}
        </>
    );
}

/** `bay 7, nvme3n1, S6XYZ123`: as the drive is found at the rack and on the command line. */
function found({ bay, name, serial }: DriveName): string {
    return [bay, name, serial || _("no serial number")].filter((part) => part !== null).join(", ");
}

function Refused({ refusal, again }: { refusal: Refusal; again: ReactNode }): JSX.Element {
    return (
        <>
            <Verdict id="plan" level="FAIL" title={_("No plan is possible yet")}>
                <ul className="mr-findings" aria-label={_("Obstacles")}>
                    {refusal.obstacles.map((one) => (
                        <li key={`${one.drives.map(({ name }) => name).join(" ")} ${one.what}`}>
                            <div>
                                {one.drives.map((drive) => <div key={drive.name}><strong>{found(drive)}</strong></div>)}
                                {one.what}
                                <div className="mr-todo"><strong>{_("What to do:")}</strong> {one.todo}</div>
                            </div>
                        </li>
                    ))}
                </ul>
                <div className="mr-actions">{again}</div>
            </Verdict>
            {refusal.drives.length > 0 && <Panel title={_("Drives that stay unchanged")}><UnusedDrives.Table drives={refusal.drives} /></Panel>}
        </>
    );
}
