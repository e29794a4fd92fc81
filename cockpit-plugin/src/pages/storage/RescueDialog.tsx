// SPDX-License-Identifier: Apache-2.0
/** Confirms one step of a rescue, which a unit of the server then carries out: it goes on without this page. */
import { useState, type JSX } from "react";
import { Checkbox } from "@patternfly/react-core/dist/esm/components/Checkbox/index.js";
import { Form } from "@patternfly/react-core/dist/esm/components/Form/index.js";
import type { DriveRow, RescueState } from "../../types/millrace";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { ChoiceField, TextField } from "../../components/Field";
import { bytes } from "../../lib/format";
import { useChange } from "../../lib/hooks";
import { _, format } from "../../lib/i18n";
import { losses, stepExplanation, stepRisk, stepTitle, type StepName } from "./rescue-words";

/** All drives are examined once more before a step begins. */
const BEGIN_SECONDS = 300;

type Image = "default" | "file" | "none";

export function RescueDialog({ name, state, blank, onDone, onClose }: {
    name: StepName; state: RescueState; blank: DriveRow[]; onDone: () => void; onClose: () => void;
}): JSX.Element {
    const [typed, setTyped] = useState("");
    const [image, setImage] = useState<Image>("default");
    const [file, setFile] = useState("");
    const [drives, setDrives] = useState<string[]>([]);
    const step = useChange("pool rescue", { timeout: BEGIN_SECONDS });
    const word = _("confirmation", "yes");
    const ready = typed.trim() === word && (name !== "image" || image !== "file" || file !== "");
    const risk = stepRisk(name);

    const confirm = async () => {
        const how = name === "log" ? drives.map((one) => `--with=${one}`)
            : name === "image" && image === "file" ? [`--image=${file}`]
                : name === "image" && image === "none" ? ["--without-image"] : [];
        if (await step.go([`--step=${name}`, "--yes", "--detach", ...how]) !== undefined) onDone();
    };
    const choose = (serial: string, on: boolean) => setDrives((before) => [...before.filter((one) => one !== serial), ...(on ? [serial] : [])]);
    return (
        <ConfirmDialog danger={name === "log" || name === "repair"} title={format(_("question about a step", "$0?"), stepTitle(name))} action={_("Carry out this step")}
            ready={ready} busy={step.busy} error={step.error} onConfirm={() => void confirm()} onClose={onClose}>
            <Form onSubmit={(event) => { event.preventDefault(); if (ready && !step.busy) void confirm(); }}>
                <p>{stepExplanation(name)}</p>
                {risk !== undefined && <p>{risk}</p>}
                {name === "repair" && <ul className="mr-notes" aria-label={_("What may be lost")}>{losses().map((one) => <li key={one}>{one}</li>)}</ul>}
                {name === "image" && (
                    <ChoiceField<Image> id="rescue-image" label={_("Image of the metadata")} value={image} onChange={setImage} disabled={step.busy}
                        options={[
                            { value: "default", label: _("In a file on the boot drive") },
                            { value: "file", label: _("In another file") },
                            { value: "none", label: _("Go on without an image") },
                        ]} />
                )}
                {name === "image" && image === "file" && (
                    <TextField id="rescue-file" label={_("File")} required value={file} onChange={setFile} disabled={step.busy}
                        help={_("An absolute path, not in the pool and not in /tmp.")} />
                )}
                {name === "log" && <NewLog planned={state.new_log} blank={blank} chosen={drives} choose={choose} />}
                <TextField id="rescue-yes" label={format(_("Type “$0” to confirm"), word)} value={typed} onChange={setTyped} disabled={step.busy} />
            </Form>
        </ConfirmDialog>
    );
}

/** The drives of the new log: those that are ticked, else free log partitions of the data drives. */
function NewLog({ planned, blank, chosen, choose }: {
    planned: string | null; blank: DriveRow[]; chosen: string[]; choose: (serial: string, on: boolean) => void;
}): JSX.Element {
    return (
        <fieldset className="mr-stack">
            <legend>{_("Drives of the new log")}</legend>
            {chosen.length > 0
                ? <p>{format(_("Written and used for the log alone: $0. Two are the mirror, a third one is its hot spare."), chosen.join(", "))}</p>
                : planned !== null && <p>{format(_("Without a choice: $0."), planned)}</p>}
            {blank.map(({ serial, model, size_bytes, bay }) => (
                <Checkbox key={serial} id={`rescue-with-${serial}`} isChecked={chosen.includes(serial)} onChange={(_event, on) => choose(serial, on)}
                    label={format(_("Blank drive $0: $1, $2, bay $3"), serial, model, bytes(size_bytes), bay ?? _("unknown"))} />
            ))}
        </fieldset>
    );
}
