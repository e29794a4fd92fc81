// SPDX-License-Identifier: Apache-2.0
/** Confirms an adoption, which a unit of the server then carries out. */
import { useState, type JSX } from "react";
import { Checkbox } from "@patternfly/react-core/dist/esm/components/Checkbox/index.js";
import { Form } from "@patternfly/react-core/dist/esm/components/Form/index.js";
import type { KeptState } from "../../types/millrace";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { ChoiceField, TextField } from "../../components/Field";
import { useChange } from "../../lib/hooks";
import { _, format } from "../../lib/i18n";
import { trustWord, type Trusted } from "./trust";

type Secrets = "with" | "without";

/** The pool is read once more before anything is written. */
export const BEGIN_SECONDS = 600;

export function AdoptDialog({ uuid, kept, onDone, onClose }: {
    uuid: string; kept: KeptState; onDone: () => void; onClose: () => void;
}): JSX.Element {
    const [secrets, setSecrets] = useState<Secrets>("with");
    const [passphrase, setPassphrase] = useState("");
    const [without, setWithout] = useState<Trusted["kind"][]>([]);
    const adopt = useChange("pool adopt --detach", { timeout: BEGIN_SECONDS });
    const locked = kept.sealed && secrets === "with";
    const addresses = kept.ports.filter(({ here }) => here !== null).flatMap((one) => one.addresses);
    const confirm = async () => {
        const secret = kept.sealed && locked ? ["--passphrase-stdin"] : [];
        const how = secrets === "without" ? ["--without-secrets"] : [...secret, ...without.map((kind) => `--without=${kind}`)];
        if (await adopt.go([uuid, "--yes", ...how], locked ? `${passphrase}\n` : "") !== undefined) onDone();
    };
    return (
        <ConfirmDialog title={kept.origin === "drives" ? _("Adopt this pool?") : format(_("Adopt the pool of $0?"), kept.host)} action={_("Adopt pool")} ready={!locked || passphrase !== ""}
            busy={adopt.busy} error={adopt.error} onConfirm={() => void confirm()} onClose={onClose}>
            <Form onSubmit={(event) => { event.preventDefault(); if (!adopt.busy && (!locked || passphrase !== "")) void confirm(); }}>
                <ul className="mr-notes">
                    <li>{_("No drive is erased, and no data of the pool is changed.")}</li>
                    {kept.origin !== "kept" && <li>{_("The shares come back closed: allow clients and users again, one share at a time.")}</li>}
                    {kept.origin === "kept" && <li>{format(_("This server takes the name $0, the users, keys and shares of the pool. What was set on this boot drive is replaced."), kept.host)}</li>}
                    {kept.trusted.some(({ kind }) => kind === "password") && secrets === "with" && !without.includes("password") && <li>{_("The administrator then has the password of the pool.")}</li>}
                    {addresses.length > 0 && <li>{format(_("These addresses are set: $0. If this page does not respond any more, open it at one of them."), addresses.join(", "))}</li>}
                </ul>
                {kept.origin === "kept" && (
                    <ChoiceField<Secrets> id="adopt-secrets" label={_("Passwords, keys and SIDs")} value={secrets} onChange={setSecrets} disabled={adopt.busy}
                        options={[
                            { value: "with", label: kept.sealed ? _("Bring them back with the passphrase") : _("Bring them back") },
                            { value: "without", label: _("Adopt without them") },
                        ]}
                        help={secrets === "with" ? undefined : _("Passwords of users, certificates, keys and the membership in a domain are lost. Clients see another server.")} />
                )}
                {locked && (
                    <TextField id="adopt-passphrase" type="password" label={_("Passphrase of the kept state")} required value={passphrase}
                        onChange={setPassphrase} disabled={adopt.busy} />
                )}
                {secrets === "with" && kept.trusted.length > 0 && (
                    <fieldset className="mr-fieldset">
                        <legend>{_("These drives give power over this server to their last administrator. Clear each entry that you do not know.")}</legend>
                        {kept.trusted.map(({ kind, details }) => (
                            <Checkbox key={kind} id={`adopt-trust-${kind}`} label={trustWord(kind)} isDisabled={adopt.busy}
                                description={<span className="mr-anywhere">{details.join(", ")}</span>} isChecked={!without.includes(kind)}
                                onChange={(_event, checked) => setWithout(checked ? without.filter((one) => one !== kind) : [...without, kind])} />
                        ))}
                    </fieldset>
                )}
            </Form>
        </ConfirmDialog>
    );
}
