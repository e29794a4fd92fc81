// SPDX-License-Identifier: Apache-2.0
import { useState, type JSX } from "react";
import { Alert, AlertActionCloseButton } from "@patternfly/react-core/dist/esm/components/Alert/index.js";
import type { NetworkChange, TrialReport } from "../../types/millrace";
import { AdminButton } from "../../components/AdminButton";
import { ErrorAlert } from "../../components/States";
import { useChange } from "../../lib/hooks";
import { _, format, ngettext } from "../../lib/i18n";
import { CHANGE_SECONDS } from "../../lib/seconds";

/** The change that waits, with the button that keeps it: pressing it proves that this browser still reaches the server. */
export function TrialAlert({ trial, onEnded }: { trial: TrialReport; onEnded: (change: NetworkChange) => void }): JSX.Element | null {
    const confirm = useChange("network confirm", { timeout: CHANGE_SECONDS });
    const rollback = useChange("network rollback", { timeout: CHANGE_SECONDS });
    const [closed, setClosed] = useState(false);
    const end = async (change: Pick<typeof confirm, "go">) => {
        const report = await change.go();
        if (report !== undefined) onEnded(report);
    };
    const busy = confirm.busy || rollback.busy;
    if (trial.state === "applying")
        return <Alert variant="info" isInline title={_("The change is being applied")} data-testid="trial"><p>{trial.what}</p></Alert>;
    if (trial.state === "waiting")
        return (
            <Alert variant="warning" isInline title={_("Keep this change of the network?")} role="status" data-testid="trial">
                <ErrorAlert error={confirm.error ?? rollback.error} />
                <p>{format(_("$0, by $1"), trial.what, trial.who)}</p>
                {[...trial.verified, ...trial.warnings].map((line) => <p key={line}>{line}</p>)}
                <p>{format(ngettext("Rolled back in $0 second unless confirmed.", "Rolled back in $0 seconds unless confirmed.", trial.seconds), trial.seconds)}</p>
                <div className="mr-actions">
                    <AdminButton variant="primary" isDisabled={busy} isLoading={confirm.busy} onClick={() => void end(confirm)}>{_("Keep the change")}</AdminButton>
                    <AdminButton variant="secondary" isDisabled={busy} isLoading={rollback.busy} onClick={() => void end(rollback)}>{_("Roll back")}</AdminButton>
                </div>
            </Alert>
        );
    if (trial.state !== "rolled-back" || closed) return null;
    return (
        <Alert variant="info" isInline title={_("The last change of the network was rolled back")} data-testid="trial"
            actionClose={<AlertActionCloseButton onClose={() => setClosed(true)} aria-label={_("Close")} />}>
            <p>{[trial.what, trial.problem].filter(Boolean).join(" – ")}</p>
        </Alert>
    );
}
