// SPDX-License-Identifier: Apache-2.0
import type { JSX } from "react";
import { Button } from "@patternfly/react-core/dist/esm/components/Button/index.js";
import { Checkbox } from "@patternfly/react-core/dist/esm/components/Checkbox/index.js";
import { Form as FormLayout, FormGroup } from "@patternfly/react-core/dist/esm/components/Form/index.js";
import { Switch } from "@patternfly/react-core/dist/esm/components/Switch/index.js";
import type { ClientNetworks, NfsClient } from "../../../types/millrace";
import { ChoiceField, TextField } from "../../../components/Field";
import { Panel } from "../../../components/Panel";
import { _, format } from "../../../lib/i18n";
import { SECURITIES, SQUASHES, TRANSPORTS } from "../../../types/rules";
import { NEW_CLIENT } from "../form";
import { securityWord, squashWord, transportWord } from "../words";
import type { PartProps } from "./part";

function Ticks<T extends string>({ id, label, all, chosen, word, onChange }: {
    id: string; label: string; all: readonly T[]; chosen: readonly T[]; word: (one: T) => string; onChange: (chosen: T[]) => void;
}): JSX.Element {
    return (
        <FormGroup role="group" fieldId={id} label={label}>
            {all.map((one) => (
                <Checkbox key={one} id={`${id}-${one}`} label={word(one)} isChecked={chosen.includes(one)}
                    onChange={(_event, checked) => onChange(all.filter((other) => (other === one ? checked : chosen.includes(other))))} />
            ))}
        </FormGroup>
    );
}

/** Digits only, at most as many as a number of a user has. */
function IdField({ id, label, value, onChange }: { id: string; label: string; value: number | null; onChange: (value: number | null) => void }): JSX.Element {
    return (
        <TextField id={id} label={label} value={value === null ? "" : String(value)} help={_("Files of mapped users belong to it. Empty: nobody.")}
            onChange={(text) => { if (/^[0-9]{0,10}$/.test(text)) onChange(text === "" ? null : Number(text)); }} />
    );
}

function ClientFields({ index, client, problem, onChange, onRemove }: {
    index: number; client: NfsClient; problem: string | undefined; onChange: (changed: Partial<NfsClient>) => void; onRemove: () => void;
}): JSX.Element {
    const id = `client-${index}`;
    return (
        <fieldset className="mr-fieldset">
            <legend>{client.client || format(_("Client $0"), index + 1)}</legend>
            <div className="mr-fields">
                <TextField id={id} label={_("Allowed client")} required value={client.client} onChange={(text) => onChange({ client: text })}
                    problem={client.client === "" ? undefined : problem} help={_("Network (10.0.0.0/24), IP address, host name or @netgroup.")} />
                <ChoiceField id={`${id}-access`} label={_("Access")} value={client.access} onChange={(access) => onChange({ access })}
                    options={[{ value: "rw", label: _("Read and write") }, { value: "ro", label: _("Read only") }]} />
                <ChoiceField id={`${id}-squash`} label={_("Users")} value={client.squash} onChange={(squash) => onChange({ squash })}
                    options={SQUASHES.map((value) => ({ value, label: squashWord(value) }))} />
            </div>
            {client.squash !== "none" && (
                <details className="mr-details" open={client.anonuid !== null || client.anongid !== null}>
                    <summary>{_("Mapped users")}</summary>
                    <div className="mr-fields">
                        <IdField id={`${id}-anonuid`} label={_("User number")} value={client.anonuid ?? null} onChange={(anonuid) => onChange({ anonuid })} />
                        <IdField id={`${id}-anongid`} label={_("Group number")} value={client.anongid ?? null} onChange={(anongid) => onChange({ anongid })} />
                    </div>
                </details>
            )}
            <details className="mr-details">
                <summary>{_("Security")}</summary>
                <div className="mr-fields">
                    <Ticks id={`${id}-sec`} label={_("User authentication")} all={SECURITIES} chosen={client.sec} word={securityWord}
                        onChange={(sec) => onChange({ sec })} />
                    <Ticks id={`${id}-xprtsec`} label={_("Transport security (none selected: any)")} all={TRANSPORTS} chosen={client.xprtsec} word={transportWord}
                        onChange={(xprtsec) => onChange({ xprtsec })} />
                </div>
            </details>
            <Button variant="link" isInline isDanger onClick={onRemove} aria-label={format(_("Remove $0"), client.client || index + 1)}>{_("Remove")}</Button>
        </fieldset>
    );
}

function exportedTo({ policy, confirmed }: ClientNetworks): string {
    const all = policy.length > 0 ? policy : confirmed;
    return all.length > 0
        ? format(_("Exported to the client networks of this server: $0."), all.join(", "))
        : _("Not exported until the client networks of this server are confirmed.");
}

export function NfsPart({ form, set, problems, networks }: PartProps & { networks: ClientNetworks | undefined }): JSX.Element {
    const change = (index: number, changed: Partial<NfsClient>) =>
        set({ clients: form.clients.map((one, at) => (at === index ? { ...one, ...changed } : one)) });
    const access = form.type === "dataset-ro" ? "ro" : "rw";
    return (
        <Panel title={_("NFS (Linux)")} testId="part-nfs"
            actions={<Switch id="nfs" label={_("NFS")} isChecked={form.nfs} onChange={(_event, nfs) => set({ nfs })} />}>
            {!form.nfs && <p className="mr-subtle">{_("Not served over NFS.")}</p>}
            {form.nfs && (
                <FormLayout onSubmit={(event) => event.preventDefault()}>
                    {form.clients.length === 0 && networks !== undefined && <p>{exportedTo(networks)}</p>}
                    {form.clients.map((client, index) => (
                        <ClientFields key={index} index={index} client={client} problem={problems[`clients.${index}`]}
                            onChange={(changed) => change(index, changed)}
                            onRemove={() => set({ clients: form.clients.filter((_one, at) => at !== index) })} />
                    ))}
                    <Button variant="secondary" className="mr-start" onClick={() => set({ clients: [...form.clients, { ...NEW_CLIENT, access }] })}>
                        {form.clients.length === 0 ? _("Specify clients") : _("Add client")}
                    </Button>
                    <FormGroup fieldId="nfs-snapshots">
                        <Checkbox id="nfs-snapshots" label={_("Export the snapshots")} isChecked={form.nfsSnapshots}
                            onChange={(_event, nfsSnapshots) => set({ nfsSnapshots })}
                            description={_("The same clients can mount the directory of the snapshots, read-only.")} />
                    </FormGroup>
                </FormLayout>
            )}
        </Panel>
    );
}
