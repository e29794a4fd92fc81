// SPDX-License-Identifier: Apache-2.0
/** An adoption under way, wherever it was begun, and what it left. The server has it in a journal: a reload loses nothing. */
import { useState, type JSX } from "react";
import { Alert, AlertActionCloseButton } from "@patternfly/react-core/dist/esm/components/Alert/index.js";
import type { Adopted as Result, Adoption, AdoptionProgress } from "../../types/millrace";
import { AdminButton } from "../../components/AdminButton";
import { Verdict } from "../../components/Health";
import { Panel } from "../../components/Panel";
import { ProgressEta } from "../../components/ProgressEta";
import { ErrorAlert } from "../../components/States";
import { moment } from "../../lib/format";
import { useChange } from "../../lib/hooks";
import { _, format, ngettext } from "../../lib/i18n";
import { BEGIN_SECONDS } from "./AdoptDialog";

export function Adopting({ adoption, running, progress, host, reload }: {
    adoption: Adoption; running: boolean; progress: AdoptionProgress | null; host: string | undefined; reload: () => void;
}): JSX.Element {
    const again = useChange("pool adopt --detach", { timeout: BEGIN_SECONDS });
    const name = host ?? adoption.pool;
    if (running)
        return (
            <Panel title={format(_("The pool of $0 is being adopted"), name)} wide testId="adopting">
                <div className="mr-stack">
                    <ProgressEta title={stepOf(progress)} progress={progress === null ? null : progress.done / progress.total} />
                    <p className="mr-subtle">{format(_("Begun $0. It continues when this page is closed. After a power cut it resumes at the next boot."), moment(adoption.at))}</p>
                </div>
            </Panel>
        );
    return (
        <>
            <ErrorAlert error={again.error} />
            <Verdict id="adopting" level="FAIL" title={format(_("The adoption of the pool of $0 stopped"), name)}>
                <p>{adoption.problem ?? _("It was interrupted. The drives are unchanged.")}</p>
                <div className="mr-actions">
                    <AdminButton variant="primary" isLoading={again.busy} isDisabled={again.busy}
                        onClick={() => { void again.go(["--yes"]).then(reload); }}>{_("Continue")}</AdminButton>
                </div>
            </Verdict>
        </>
    );
}

function stepOf(progress: AdoptionProgress | null): string {
    if (progress === null) return _("Restoring users, shares, keys and addresses");
    switch (progress.step) {
    case "files": return _("Restoring files and databases");
    case "accounts": return _("Restoring users and passwords");
    case "ports": return _("Setting addresses");
    case "services": return _("Restarting services");
    case "pool": return _("Recording the pool");
    }
}

/** After an adoption, until the next boot: what came back, and what did not. */
export function Adopted({ done }: { done: Result | null }): JSX.Element | null {
    const [closed, close] = useState(false);
    if (done === null || closed) return null;
    const { host, shares, users, missing } = done;
    return (
        <Alert variant={missing.length === 0 ? "success" : "warning"} isInline data-testid="adopted"
            title={format(_("The pool of $0 is adopted: $1, $2"), host,
                format(ngettext("$0 share", "$0 shares", shares.length), shares.length),
                format(ngettext("$0 user", "$0 users", users.length), users.length))}
            actionClose={<AlertActionCloseButton onClose={() => close(true)} />}>
            {missing.length > 0 && <ul className="mr-notes" aria-label={_("What did not come back")}>{missing.map((one) => <li key={one}>{one}</li>)}</ul>}
        </Alert>
    );
}
