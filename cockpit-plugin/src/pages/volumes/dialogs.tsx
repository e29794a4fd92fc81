// SPDX-License-Identifier: Apache-2.0
/** Dialogs about one volume. */
import { useState, type JSX } from "react";
import { Checkbox } from "@patternfly/react-core/dist/esm/components/Checkbox/index.js";
import { Form } from "@patternfly/react-core/dist/esm/components/Form/index.js";
import type { VolumeReport, VolumeRow } from "../../types/millrace";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { CopyBlock } from "../../components/CopyBlock";
import { TextField } from "../../components/Field";
import { ProgressEta } from "../../components/ProgressEta";
import { bytes } from "../../lib/format";
import { useChange } from "../../lib/hooks";
import { _, format } from "../../lib/i18n";
import { CHANGE_SECONDS } from "../../lib/seconds";
import * as rules from "../../types/rules";
import { nameProblem } from "./CreateVolume";
import { complete, fromExport, NEW_ORDER, stdin, words } from "./order";
import { OrderFields } from "./OrderFields";

export interface About {
    volume: VolumeRow;
    onDone: (report: VolumeReport) => void;
    onClose: () => void;
}

/** It takes as long as there is to allocate or to free. */
const NO_LIMIT = { timeout: 0 };

/** The lines that connect it, one for each address. */
export function ConnectLines({ volume }: { volume: VolumeRow }): JSX.Element {
    return <CopyBlock text={`${volume.connect.join("\n")}\n`} label={format(_("Connect $0 on a host"), volume.name)} />;
}

export function ConnectDialog({ volume, onClose }: Omit<About, "onDone">): JSX.Element {
    return (
        <ConfirmDialog title={format(_("Connect $0 on a host"), volume.name)} action={_("Close")} onConfirm={onClose} onClose={onClose}>
            <div className="mr-stack">
                <p>{_("Run on an allowed host, as root. With several lines the multipath of the host uses them as paths of one device.")}</p>
                {volume.authenticated && <p>{_("Replace … by the secret of the host.")}</p>}
                <ConnectLines volume={volume} />
            </div>
        </ConfirmDialog>
    );
}

export function ExportDialog({ volume, onDone, onClose }: About): JSX.Element {
    const [order, setOrder] = useState(volume.export === null ? NEW_ORDER : fromExport(volume.export));
    const change = useChange("volume export", { timeout: CHANGE_SECONDS });
    const confirm = async () => {
        const report = await change.go([volume.name, `--transport=${order.transport}`, ...words(order)], stdin(order));
        if (report !== undefined) onDone(report);
    };
    return (
        <ConfirmDialog title={volume.export === null ? format(_("Export the volume $0"), volume.name) : format(_("Change the export of $0"), volume.name)}
            action={_("Export")} ready={complete(order)} busy={change.busy} error={change.error} onConfirm={() => void confirm()} onClose={onClose}>
            <div className="mr-stack">
                {volume.export !== null && <p>{_("These hosts replace those before. Disconnect the volume on its host first.")}</p>}
                <Form onSubmit={(event) => event.preventDefault()}>
                    <OrderFields order={order} onChange={setOrder} disabled={change.busy} kept={volume.authenticated} />
                </Form>
            </div>
        </ConfirmDialog>
    );
}

export function ResizeDialog({ volume, onDone, onClose }: About): JSX.Element {
    const [size, setSize] = useState("");
    const resize = useChange("volume resize", NO_LIMIT);
    const problem = size === "" ? undefined : rules.volumeSize(size);
    const confirm = async () => {
        const report = await resize.go([volume.name, `--size=${size}`]);
        if (report !== undefined) onDone(report);
    };
    return (
        <ConfirmDialog title={format(_("Resize the volume $0"), volume.name)} action={_("Resize")} ready={size !== "" && problem === undefined}
            busy={resize.busy} error={resize.error} onConfirm={() => void confirm()} onClose={onClose}>
            <div className="mr-stack">
                <p>{format(_("The volume has $0 now and can only grow. Connected hosts see the new size at once; the file system there is grown on the host."), bytes(volume.size))}</p>
                <Form onSubmit={(event) => event.preventDefault()}>
                    <TextField id="new-size" label={_("New size")} required value={size} onChange={setSize} problem={problem} disabled={resize.busy}
                        help={_("For example 500G or 10T (powers of 1024), rounded up to full stripes of the array.")} />
                </Form>
                {resize.busy && <ProgressEta title={_("Resizing the volume")} progress={null} />}
            </div>
        </ConfirmDialog>
    );
}

export function CloneDialog({ volume, taken, onDone, onClose }: About & { taken: string[] }): JSX.Element {
    const [name, setName] = useState(`${volume.name}-2`);
    const clone = useChange("volume clone", NO_LIMIT);
    const problem = nameProblem(name, taken);
    const confirm = async () => {
        const report = await clone.go([volume.name, name]);
        if (report !== undefined) onDone(report);
    };
    return (
        <ConfirmDialog title={format(_("Clone the volume $0"), volume.name)} action={_("Clone")} ready={name !== "" && problem === undefined}
            busy={clone.busy} error={clone.error} onConfirm={() => void confirm()} onClose={onClose}>
            <div className="mr-stack">
                <p>{_("The clone shares its blocks with the original; each write to one of them takes new blocks from the pool. It is not exported.")}</p>
                {volume.connected.length > 0 && (
                    <p>{_("A host is connected: the clone is what it would find after a power cut now. Flush or freeze its file system first for more.")}</p>
                )}
                <Form onSubmit={(event) => event.preventDefault()}>
                    <TextField id="clone-name" label={_("Name of the clone")} required value={name} onChange={setName} problem={problem} disabled={clone.busy} />
                </Form>
                {clone.busy && <ProgressEta title={_("Cloning")} progress={null} />}
            </div>
        </ConfirmDialog>
    );
}

/** Disconnecting a host needs a tick: the verb refuses it without. */
export function DetachDialog({ volume, onDone, onClose }: About): JSX.Element {
    const [disconnect, setDisconnect] = useState(false);
    const detach = useChange("volume detach", { timeout: CHANGE_SECONDS });
    const confirm = async () => {
        const report = await detach.go([volume.name, ...(disconnect ? ["--disconnect"] : [])]);
        if (report !== undefined) onDone(report);
    };
    return (
        <ConfirmDialog danger title={format(_("Detach the volume $0?"), volume.name)} action={disconnect ? _("Disconnect hosts and detach") : _("Detach")}
            busy={detach.busy} error={detach.error} onConfirm={() => void confirm()} onClose={onClose}>
            <div className="mr-stack">
                <p>{_("The volume is exported no more. Its data, its NQN and its UUID stay.")}</p>
                {volume.connected.length > 0 && <p>{format(_("Connected: $0."), volume.connected.map(({ address }) => address).join(", "))}</p>}
                <Checkbox id="disconnect" label={_("Also while a host is connected")} isChecked={disconnect} isDisabled={detach.busy}
                    description={_("The host loses the device, and what it has not written is lost.")}
                    onChange={(_event, checked) => setDisconnect(checked)} />
            </div>
        </ConfirmDialog>
    );
}

export function RemoveDialog({ volume, onDone, onClose }: About): JSX.Element {
    const [typed, setTyped] = useState("");
    const remove = useChange("volume remove", NO_LIMIT);
    const confirm = async () => {
        const report = await remove.go([volume.name, `--delete-data=${typed}`]);
        if (report !== undefined) onDone(report);
    };
    return (
        <ConfirmDialog danger title={format(_("Remove the volume $0?"), volume.name)} action={_("Remove volume and delete data")}
            ready={typed === volume.name} busy={remove.busy} error={remove.error} onConfirm={() => void confirm()} onClose={onClose}>
            <div className="mr-stack">
                <p>{format(_("All data of the volume ($0) is permanently deleted."), bytes(volume.size))}</p>
                <Form onSubmit={(event) => event.preventDefault()}>
                    <TextField id="remove-name" label={format(_("Type “$0” to confirm the deletion"), volume.name)} value={typed} onChange={setTyped}
                        disabled={remove.busy} />
                </Form>
                {remove.busy && <ProgressEta title={_("Removing the volume")} progress={null} />}
            </div>
        </ConfirmDialog>
    );
}
