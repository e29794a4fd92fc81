// SPDX-License-Identifier: Apache-2.0
import { useState, type JSX } from "react";
import { Checkbox } from "@patternfly/react-core/dist/esm/components/Checkbox/index.js";
import { Form } from "@patternfly/react-core/dist/esm/components/Form/index.js";
import type { VolumeReport } from "../../types/millrace";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { TextField } from "../../components/Field";
import { ProgressEta } from "../../components/ProgressEta";
import { useChange } from "../../lib/hooks";
import { _, format } from "../../lib/i18n";
import * as rules from "../../types/rules";
import { complete, NEW_ORDER, stdin, words } from "./order";
import { OrderFields } from "./OrderFields";

/** What a name of a new volume lacks; nothing while it is empty. */
export function nameProblem(name: string, taken: string[]): string | undefined {
    if (name === "") return undefined;
    return taken.includes(name) ? format(_("volume $0 already exists: choose another name"), name) : rules.volumeName(name);
}

export function CreateVolume({ taken, onDone, onClose }: {
    taken: string[]; onDone: (report: VolumeReport) => void; onClose: () => void;
}): JSX.Element {
    const [name, setName] = useState("");
    const [size, setSize] = useState("");
    const [exported, setExported] = useState(true);
    const [order, setOrder] = useState(NEW_ORDER);
    // All of it is allocated, and what a host discarded of others before.
    const create = useChange("volume create", { timeout: 0 });
    const wrongName = nameProblem(name, taken);
    const wrongSize = size === "" ? undefined : rules.volumeSize(size);
    const ready = name !== "" && wrongName === undefined && size !== "" && wrongSize === undefined && (!exported || complete(order));
    const confirm = async () => {
        const report = exported
            ? await create.go([name, `--size=${size}`, `--export=${order.transport}`, ...words(order)], stdin(order))
            : await create.go([name, `--size=${size}`]);
        if (report !== undefined) onDone(report);
    };
    return (
        <ConfirmDialog title={_("New volume")} action={_("Create volume")} ready={ready} busy={create.busy} error={create.error}
            onConfirm={() => void confirm()} onClose={onClose}>
            <div className="mr-stack">
                <Form onSubmit={(event) => event.preventDefault()}>
                    <TextField id="volume-name" label={_("Name")} required value={name} onChange={setName} problem={wrongName} disabled={create.busy} />
                    <TextField id="volume-size" label={_("Size")} required value={size} onChange={setSize} problem={wrongSize} disabled={create.busy}
                        help={_("For example 500G or 10T (powers of 1024), rounded up to full stripes of the array. All of it is allocated now.")} />
                    <Checkbox id="volume-export" label={_("Export it to a host")} isChecked={exported} isDisabled={create.busy}
                        onChange={(_event, checked) => setExported(checked)} />
                    {exported && <OrderFields order={order} onChange={setOrder} disabled={create.busy} />}
                </Form>
                {create.busy && <ProgressEta title={_("Creating the volume")} progress={null} />}
            </div>
        </ConfirmDialog>
    );
}
