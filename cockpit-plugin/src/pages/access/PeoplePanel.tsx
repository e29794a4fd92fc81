// SPDX-License-Identifier: Apache-2.0
import { useState, type JSX } from "react";
import { AdminButton } from "../../components/AdminButton";
import { DataTable, type Column } from "../../components/DataTable";
import { Panel } from "../../components/Panel";
import { UNKNOWN } from "../../lib/format";
import { useChange } from "../../lib/hooks";
import { _, format } from "../../lib/i18n";
import { PasswordDialog } from "../shares/account-dialogs";
import { AddKey, ChangePerson, NewPerson, SureDialog } from "./person-dialogs";
import { EnrollDialog, RemoveFactor } from "./SecondFactor";
import { roleWord, type Person } from "./words";

type Dialog =
    | { kind: "new" }
    | { kind: "change" | "password" | "key" | "enroll" | "unenroll" | "lock" | "remove"; person: Person }
    | { kind: "drop-key"; person: Person; fingerprint: string };

function Keys({ person, open }: { person: Person; open: (dialog: Dialog) => void }): JSX.Element {
    return (
        <div className="mr-stack">
            {person.keys.map((key) => (
                <div key={key.fingerprint}>
                    <code>{key.fingerprint}</code> {key.security_key ? _("security key") : key.comment}{" "}
                    <AdminButton variant="link" size="sm" isDanger isInline aria-label={format(_("Remove the key $0"), key.fingerprint)}
                        onClick={() => open({ kind: "drop-key", person, fingerprint: key.fingerprint })}>{_("Remove")}</AdminButton>
                </div>
            ))}
            {person.role === "administrator" && (
                <div>
                    <AdminButton variant="link" size="sm" isInline aria-label={format(_("Add a key of $0"), person.name)}
                        onClick={() => open({ kind: "key", person })}>{_("Add key")}</AdminButton>
                </div>
            )}
        </div>
    );
}

function columns(me: string, open: (dialog: Dialog) => void, unlock: (person: Person) => void): Column<Person>[] {
    const factor = (person: Person) => (person.second_factor === null
        ? UNKNOWN
        : (
            <AdminButton variant="link" size="sm" isInline least={person.name === me ? "viewer" : "administrator"}
                aria-label={format(_("Second factor of $0"), person.name)}
                onClick={() => open({ kind: person.second_factor === true ? "unenroll" : "enroll", person })}>
                {person.second_factor ? format(_("On, $0 recovery codes left"), person.recovery_codes ?? 0) : _("Turn on")}
            </AdminButton>
        ));
    return [
        { title: _("Account"), heads: true, sort: ({ name }) => name, cell: ({ name, full_name }) => (full_name ? `${name} (${full_name})` : name) },
        { title: _("Role"), sort: ({ role }) => role, cell: ({ role, locked }) => (locked ? format(_("$0, locked"), roleWord(role)) : roleWord(role)) },
        { title: _("Second factor"), cell: factor },
        { title: _("SSH keys"), cell: (person) => <Keys person={person} open={open} /> },
        {
            title: _("Actions"),
            cell: (person) => (
                <div className="mr-row-actions">
                    <AdminButton variant="secondary" size="sm" aria-label={format(_("Change $0"), person.name)}
                        onClick={() => open({ kind: "change", person })}>{_("Change")}</AdminButton>
                    <AdminButton variant="secondary" size="sm" aria-label={format(_("New password of $0"), person.name)}
                        onClick={() => open({ kind: "password", person })}>{_("Password")}</AdminButton>
                    {person.name !== me && (
                        <AdminButton variant="secondary" size="sm" aria-label={format(person.locked ? _("Unlock $0") : _("Lock $0"), person.name)}
                            onClick={() => (person.locked ? unlock(person) : open({ kind: "lock", person }))}>
                            {person.locked ? _("Unlock") : _("Lock")}
                        </AdminButton>
                    )}
                    {person.name !== me && person.name !== "admin" && (
                        <AdminButton variant="link" size="sm" isDanger aria-label={format(_("Remove $0"), person.name)}
                            onClick={() => open({ kind: "remove", person })}>{_("Remove")}</AdminButton>
                    )}
                </div>
            ),
        },
    ];
}

/** Who may manage this server. `me` is the account of this session. */
export function PeoplePanel({ people, me, onDone }: { people: Person[]; me: string; onDone: (sentence: string) => void }): JSX.Element {
    const [dialog, setDialog] = useState<Dialog>();
    const unlocking = useChange("access unlock");
    const close = () => setDialog(undefined);
    const done = (sentence: string) => { close(); onDone(sentence); };
    const ends = { onDone: done, onClose: close };
    const unlock = (person: Person) => void unlocking.go([person.name]).then((report) => { if (report !== undefined) onDone(report.done); });
    return (
        <Panel title={_("People")} wide testId="people"
            actions={<AdminButton variant="primary" size="sm" onClick={() => setDialog({ kind: "new" })}>{_("New person")}</AdminButton>}>
            <DataTable label={_("People")} columns={columns(me, setDialog, unlock)} rows={people} rowKey={({ name }) => name} />
            {dialog?.kind === "new" && <NewPerson taken={people.map(({ name }) => name)} {...ends} />}
            {dialog?.kind === "change" && <ChangePerson person={dialog.person} {...ends} />}
            {dialog?.kind === "password" && <PasswordDialog name={dialog.person.name} {...ends} />}
            {dialog?.kind === "key" && <AddKey person={dialog.person} {...ends} />}
            {dialog?.kind === "enroll" && <EnrollDialog name={dialog.person.name} {...ends} />}
            {dialog?.kind === "unenroll" && <RemoveFactor name={dialog.person.name} own={dialog.person.name === me} {...ends} />}
            {dialog?.kind === "lock" && (
                <SureDialog verb="access lock" words={[dialog.person.name]} title={format(_("Lock $0?"), dialog.person.name)} action={_("Lock")} {...ends}>
                    {_("No password and no key opens the account until it is unlocked. Sessions end now.")}
                </SureDialog>
            )}
            {dialog?.kind === "remove" && (
                <SureDialog verb="access remove" words={[dialog.person.name]} title={format(_("Remove $0?"), dialog.person.name)} action={_("Remove")} {...ends}>
                    {_("Sessions end now. Files in the home directory stay.")}
                </SureDialog>
            )}
            {dialog?.kind === "drop-key" && (
                <SureDialog verb="access key remove" words={[dialog.person.name, dialog.fingerprint]} title={format(_("Remove an SSH key of $0?"), dialog.person.name)}
                    action={_("Remove")} {...ends}>
                    {format(_("The key $0 does not sign in any more."), dialog.fingerprint)}
                </SureDialog>
            )}
        </Panel>
    );
}
