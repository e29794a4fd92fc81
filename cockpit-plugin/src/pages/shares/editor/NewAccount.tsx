// SPDX-License-Identifier: Apache-2.0
import { useState, type JSX } from "react";
import { AdminButton } from "../../../components/AdminButton";
import { _ } from "../../../lib/i18n";
import { NewGroup, NewUser } from "../account-dialogs";

/** Users and groups that exist, and what is done when there is another one. */
export interface Accounts {
    users: string[];
    groups: string[];
    taken: string[];
    onMade: (sentence: string) => void;
}

/** Makes a user or a group without leaving the form; the account is whole whether or not the share is made. */
export function NewAccount({ kind, accounts, group = "", onName }: {
    kind: "user" | "group"; accounts: Accounts;
    /** Of which a new user is a member unless it is unticked. */
    group?: string; onName: (name: string) => void;
}): JSX.Element {
    const [open, setOpen] = useState(false);
    const ends = {
        taken: accounts.taken,
        onClose: () => setOpen(false),
        onDone: (sentence: string, name?: string) => {
            setOpen(false);
            accounts.onMade(sentence);
            if (name !== undefined) onName(name);
        },
    };
    return (
        <>
            <AdminButton variant="secondary" size="sm" className="mr-start" onClick={() => setOpen(true)}>
                {kind === "user" ? _("New user") : _("New group")}
            </AdminButton>
            {open && kind === "user" && <NewUser groups={accounts.groups} first={accounts.groups.filter((one) => one === group)} {...ends} />}
            {open && kind === "group" && <NewGroup {...ends} />}
        </>
    );
}
