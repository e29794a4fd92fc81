// SPDX-License-Identifier: Apache-2.0
import type { JSX } from "react";
import { Alert } from "@patternfly/react-core/dist/esm/components/Alert/index.js";
import type { Plan } from "../../types/millrace";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { bytes } from "../../lib/format";
import { _, format } from "../../lib/i18n";
import { erased, left, taken } from "./UnusedDrives";

export function ApproveDialog({ plan, sha256, changed, onConfirm, onClose }: {
    plan: Plan; sha256: string; changed: boolean; onConfirm: () => void; onClose: () => void;
}): JSX.Element {
    const refused = left(plan.drives);
    return (
        <ConfirmDialog title={_("Approve this plan?")} action={_("Approve and build")} ready={!changed} onConfirm={onConfirm} onClose={onClose}>
            {changed && <Alert variant="warning" isInline title={_("The plan has changed. Close this dialog and review the new plan.")} />}
            <dl className="mr-confirm">
                <div><dt>{_("Arrays to be built")}</dt><dd>{plan.title}, {bytes(plan.capacity)}</dd></div>
                <div><dt>{_("Data to be erased")}</dt><dd data-testid="erased-sentence">{erased(plan.drives)}</dd></div>
                <div>
                    <dt>{_("Drives to be written")}</dt>
                    <dd className="mr-serials">{taken(plan.drives).map(({ serial }) => serial).join(" ")}</dd>
                </div>
                <div>
                    <dt>{_("Drives not used, with reason")}</dt>
                    <dd>{refused.length === 0
                        ? _("None: all drives are used.")
                        : <ul className="mr-plain">{refused.map((one) => (
                            <li key={one.serial || one.reason}>{format(_("$0: $1"), one.serial || one.model || bytes(one.size), one.reason)}</li>
                        ))}</ul>}</dd>
                </div>
                <div><dt>{_("Hash of this plan")}</dt><dd><code className="mr-hash">{sha256}</code></dd></div>
            </dl>
        </ConfirmDialog>
    );
}
