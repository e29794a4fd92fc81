// SPDX-License-Identifier: Apache-2.0
import { useState, type JSX } from "react";
import { Checkbox } from "@patternfly/react-core/dist/esm/components/Checkbox/index.js";
import { Form } from "@patternfly/react-core/dist/esm/components/Form/index.js";
import type { ChangeReport, Share } from "../../types/millrace";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { TextField } from "../../components/Field";
import { useChange } from "../../lib/hooks";
import { _, format } from "../../lib/i18n";
import { CHANGE_SECONDS } from "../../lib/seconds";

/** Removing keeps the data; deleting it needs the name of the share typed. */
export function RemoveShare({ share, onDone, onClose }: {
    share: Share; onDone: (report: ChangeReport) => void; onClose: () => void;
}): JSX.Element {
    const [deleting, setDeleting] = useState(false);
    const [typed, setTyped] = useState("");
    // Deleting takes as long as there are files.
    const remove = useChange("share remove", { timeout: deleting ? 0 : CHANGE_SECONDS });
    const confirm = async () => {
        const report = await remove.go([share.name, ...(deleting ? [`--delete-data=${typed}`] : [])]);
        if (report !== undefined) onDone(report);
    };
    return (
        <ConfirmDialog danger title={format(_("Remove the share $0?"), share.name)}
            action={deleting ? _("Remove share and delete data") : _("Remove share")}
            ready={!deleting || typed === share.name} busy={remove.busy} error={remove.error}
            onConfirm={() => void confirm()} onClose={onClose}>
            <div className="mr-stack">
                <p>{_("The share is no longer served: clients that have mounted or opened it get errors.")}</p>
                <p>
                    {deleting
                        ? format(_("All data in $0 is permanently deleted."), share.path)
                        : format(_("Files stay in $0. A new share with this name serves them again."), share.path)}
                </p>
                <Checkbox id="delete-data" label={_("Delete the files too")} isChecked={deleting}
                    onChange={(_event, checked) => setDeleting(checked)} />
                {deleting && (
                    <Form onSubmit={(event) => event.preventDefault()}>
                        <TextField id="delete-name" label={format(_("Type “$0” to confirm the deletion"), share.name)} value={typed} onChange={setTyped} />
                    </Form>
                )}
            </div>
        </ConfirmDialog>
    );
}
