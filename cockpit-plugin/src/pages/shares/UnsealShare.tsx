// SPDX-License-Identifier: Apache-2.0
import type { JSX } from "react";
import type { ChangeReport, Share } from "../../types/millrace";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { useChange } from "../../lib/hooks";
import { _, format } from "../../lib/i18n";
import { CHANGE_SECONDS } from "../../lib/seconds";

/** A share that is unsealed stays read-only until its type is changed. */
export function UnsealShare({ share, onDone, onClose }: {
    share: Share; onDone: (report: ChangeReport) => void; onClose: () => void;
}): JSX.Element {
    const unseal = useChange("share unseal", { timeout: CHANGE_SECONDS });
    const confirm = async () => {
        const report = await unseal.go([share.name]);
        if (report !== undefined) onDone(report);
    };
    return (
        <ConfirmDialog danger title={format(_("Unseal the share $0?"), share.name)} action={_("Unseal")}
            busy={unseal.busy} error={unseal.error} onConfirm={() => void confirm()} onClose={onClose}>
            <p>{_("The share stays read-only, but its type can be changed and it can be removed. The journal of the server records it.")}</p>
        </ConfirmDialog>
    );
}
