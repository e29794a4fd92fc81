// SPDX-License-Identifier: Apache-2.0
import { useState, type JSX } from "react";
import { Button } from "@patternfly/react-core/dist/esm/components/Button/index.js";
import { Checkbox } from "@patternfly/react-core/dist/esm/components/Checkbox/index.js";
import { Form as FormLayout, FormGroup } from "@patternfly/react-core/dist/esm/components/Form/index.js";
import { Label } from "@patternfly/react-core/dist/esm/components/Label/index.js";
import { Switch } from "@patternfly/react-core/dist/esm/components/Switch/index.js";
import { ChoiceField, Sentence, TextField } from "../../../components/Field";
import { Panel } from "../../../components/Panel";
import { _, format } from "../../../lib/i18n";
import { smbAccount } from "../../../types/rules";
import { cachingWord } from "../words";
import { NewAccount, type Accounts } from "./NewAccount";
import type { PartProps } from "./part";

/** Ticks for the accounts of this server, and a field for others, e.g. of a domain. */
function People({ id, label, other, local, chosen, onChange }: {
    id: string; label: string; other: string; local: string[]; chosen: string[]; onChange: (chosen: string[]) => void;
}): JSX.Element {
    const [typed, setTyped] = useState("");
    const everyone = [...local, ...chosen.filter((one) => !local.includes(one))];
    const problem = typed === "" ? undefined : smbAccount(typed);
    const add = () => {
        if (typed === "" || problem !== undefined) return;
        if (!chosen.includes(typed)) onChange([...chosen, typed]);
        setTyped("");
    };
    return (
        <>
            <FormGroup role="group" fieldId={id} label={label}>
                {everyone.length === 0 && <p className="mr-subtle">{_("None yet.")}</p>}
                {everyone.map((name) => (
                    <Checkbox key={name} id={`${id}-${name}`} label={name} isChecked={chosen.includes(name)}
                        onChange={(_event, checked) => onChange(checked ? [...chosen, name] : chosen.filter((one) => one !== name))} />
                ))}
            </FormGroup>
            <div className="mr-with-button">
                <TextField id={`${id}-other`} label={other} value={typed} onChange={setTyped} problem={problem} placeholder="DOMAIN\name" />
                <Button variant="secondary" isDisabled={typed === "" || problem !== undefined} onClick={add}>{_("Add")}</Button>
            </div>
        </>
    );
}

export function SmbPart({ form, set, problems, accounts }: PartProps & { accounts: Accounts }): JSX.Element {
    const { users, groups } = accounts;
    // as DesiredShare.both of the program: nobody writes a dataset
    const caches = !form.nfs || form.type === "dataset-ro";
    return (
        <Panel title={_("SMB (Windows, macOS, Linux)")} testId="part-smb"
            actions={<Switch id="smb" label={_("SMB")} isChecked={form.smb} onChange={(_event, smb) => set({ smb })} />}>
            {!form.smb && <p className="mr-subtle">{_("Not served over SMB.")}</p>}
            {form.smb && (
                <FormLayout onSubmit={(event) => event.preventDefault()}>
                    {!form.direct && (
                        <p data-testid="caching">
                            <Label isCompact variant="outline" color={caches ? "green" : "orange"}>{caches ? _("Clients cache") : _("Clients do not cache")}</Label>{" "}
                            {cachingWord(caches ? "clients" : "none")}
                        </p>
                    )}
                    <People id="smb-users" label={_("Users")} other={_("Other user")} local={users} chosen={form.users}
                        onChange={(chosen) => set({ users: chosen })} />
                    <NewAccount kind="user" accounts={accounts} group={form.group} onName={(name) => set({ users: [...form.users, name] })} />
                    <People id="smb-groups" label={_("Groups")} other={_("Other group")} local={groups} chosen={form.groups}
                        onChange={(chosen) => set({ groups: chosen })} />
                    <Sentence id="smb-said" problem={problems["smb"]} />
                    <ChoiceField id="encryption" label={_("Encryption")} value={form.type === "home" ? "required" : form.encryption}
                        disabled={form.type === "home"} onChange={(encryption) => set({ encryption })}
                        help={form.type === "home" ? _("Home directories are always encrypted.") : undefined}
                        options={[{ value: "offered", label: _("Optional: the client chooses signing or encryption") },
                            { value: "required", label: _("Required") }]} />
                    <Networks form={form} set={set} problems={problems} />
                    <FormGroup fieldId="audit">
                        <Checkbox id="audit" label={_("Access log")} isChecked={form.audit} isDisabled={form.direct} onChange={(_event, audit) => set({ audit })}
                            description={_("Records who opens and changes files over SMB, for about 13 % more CPU time per open.")} />
                    </FormGroup>
                    <FormGroup fieldId="previous-versions">
                        <Checkbox id="previous-versions" label={_("Previous versions")} isChecked={form.previousVersions} isDisabled={form.direct}
                            onChange={(_event, previousVersions) => set({ previousVersions })}
                            description={_("Users see the snapshots of the share and get their files back: Previous Versions of Windows.")} />
                    </FormGroup>
                    <FormGroup fieldId="time-machine">
                        <Checkbox id="time-machine" label={_("macOS backups (Time Machine)")} isChecked={form.timeMachine}
                            onChange={(_event, timeMachine) => set({ timeMachine, ...(timeMachine && { nfs: false, writing: "own", group: "" }) })}
                            description={_("Sets all options that macOS requires and disables NFS.")} />
                    </FormGroup>
                    <FormGroup fieldId="smb-direct">
                        <Checkbox id="smb-direct" label={_("SMB Direct (RDMA) instead of Samba")} isChecked={form.direct}
                            onChange={(_event, direct) => set({
                                direct, ...(direct && { nfs: false, networks: [], encryption: "offered", timeMachine: false, audit: false }),
                            })}
                            description={_("For Linux clients. Not signed, not encrypted, no domain users, no allowed networks, no NFS. The policy names its ports (smb_direct).")} />
                    </FormGroup>
                </FormLayout>
            )}
        </Panel>
    );
}

function Networks({ form, set, problems }: PartProps): JSX.Element {
    const problem = form.networks.map((_one, index) => problems[`networks.${index}`]).find((one) => one !== undefined);
    return (
        <TextField id="smb-networks" label={_("Allowed networks")} value={form.networks.join(" ")}
            onChange={(text) => set({ networks: text === "" ? [] : text.replace(/^[\s,]+/, "").split(/[\s,]+/) })}
            problem={problem}
            placeholder={_("networks of this server")} help={format(_("Separate with spaces, for example $0."), "10.1.0.0/24 10.2.0.0/24")} />
    );
}
