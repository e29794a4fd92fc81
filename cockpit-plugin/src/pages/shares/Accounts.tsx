// SPDX-License-Identifier: Apache-2.0
import { useState, type JSX } from "react";
import type { Group, User } from "../../types/millrace";
import type { Outputs } from "../../types/outputs";
import { AdminButton } from "../../components/AdminButton";
import { DataTable, type Column } from "../../components/DataTable";
import { Panel } from "../../components/Panel";
import { Loaded } from "../../components/States";
import { number } from "../../lib/format";
import type { Result } from "../../lib/hooks";
import { _, format } from "../../lib/i18n";
import { NewGroup, NewUser, PasswordDialog, RemoveAccount, UserDialog } from "./account-dialogs";
import { ADMIN } from "./form";

type Dialog =
    | { kind: "new-user" | "new-group" }
    | { kind: "user"; user: User }
    | { kind: "password" | "remove-user" | "remove-group"; name: string };

interface Row { name: string; user: User | null }

function userColumns(open: (dialog: Dialog) => void): Column<Row>[] {
    return [
        { title: _("User"), heads: true, cell: ({ name }) => name },
        { title: _("ID"), figures: true, cell: ({ user }) => (user === null ? "" : user.uid) },
        { title: _("Groups"), cell: ({ user }) => (user === null ? _("the administrator") : user.groups.join(", ")) },
        {
            title: _("Actions"),
            cell: ({ name, user }) => (
                <div className="mr-row-actions">
                    <AdminButton variant="secondary" size="sm" aria-label={format(_("New password of $0"), name)}
                        onClick={() => open({ kind: "password", name })}>{_("Password")}</AdminButton>
                    {user !== null && (
                        <>
                            <AdminButton variant="secondary" size="sm" aria-label={format(_("Change the user $0"), name)}
                                onClick={() => open({ kind: "user", user })}>{_("Change")}</AdminButton>
                            <AdminButton variant="link" size="sm" isDanger aria-label={format(_("Remove the user $0"), name)}
                                onClick={() => open({ kind: "remove-user", name })}>{_("Remove")}</AdminButton>
                        </>
                    )}
                </div>
            ),
        },
    ];
}

function groupColumns(users: User[], open: (dialog: Dialog) => void): Column<Group>[] {
    return [
        { title: _("Group"), heads: true, cell: ({ name }) => name },
        { title: _("ID"), figures: true, cell: ({ gid }) => gid },
        { title: _("Members"), cell: ({ name }) => users.filter(({ groups }) => groups.includes(name)).map((one) => one.name).join(", ") || number(0) },
        {
            title: _("Actions"),
            cell: ({ name }) => (
                <AdminButton variant="link" size="sm" isDanger aria-label={format(_("Remove the group $0"), name)}
                    onClick={() => open({ kind: "remove-group", name })}>{_("Remove")}</AdminButton>
            ),
        },
    ];
}

/** Users and groups with one number and one password on both protocols. */
export function Accounts({ users, groups, onDone }: {
    users: Result<Outputs["user list"]>; groups: Result<Outputs["group list"]>; onDone: (sentence: string) => void;
}): JSX.Element {
    const [dialog, setDialog] = useState<Dialog>();
    const names = groups.data?.groups.map(({ name }) => name) ?? [];
    const taken = [ADMIN, ...(users.data?.users ?? []).map(({ name }) => name), ...names];
    const close = () => setDialog(undefined);
    const done = (sentence: string) => { close(); onDone(sentence); };
    return (
        <>
            <Panel title={_("Users")} wide testId="users"
                actions={<AdminButton variant="secondary" size="sm" onClick={() => setDialog({ kind: "new-user" })}>{_("New user")}</AdminButton>}>
                <Loaded of={users} what={_("Loading users")}>
                    {(list) => <DataTable label={_("Users")} columns={userColumns(setDialog)} rowKey={({ name }) => name}
                        rows={[{ name: ADMIN, user: null }, ...list.users.map((user) => ({ name: user.name, user }))]} />}
                </Loaded>
            </Panel>
            <Panel title={_("Groups")} wide testId="groups"
                actions={<AdminButton variant="secondary" size="sm" onClick={() => setDialog({ kind: "new-group" })}>{_("New group")}</AdminButton>}>
                <Loaded of={groups} what={_("Loading groups")}>
                    {(list) => (list.groups.length > 0
                        ? <DataTable label={_("Groups")} columns={groupColumns(users.data?.users ?? [], setDialog)} rows={list.groups} rowKey={({ name }) => name} />
                        : <p>{_("No groups yet. A group gives several users access to an SMB share.")}</p>)}
                </Loaded>
            </Panel>
            {dialog?.kind === "new-user" && <NewUser groups={names} taken={taken} onDone={done} onClose={close} />}
            {dialog?.kind === "new-group" && <NewGroup taken={taken} onDone={done} onClose={close} />}
            {dialog?.kind === "user" && <UserDialog user={dialog.user} groups={names} onDone={done} onClose={close} />}
            {dialog?.kind === "password" && <PasswordDialog name={dialog.name} onDone={done} onClose={close} />}
            {dialog?.kind === "remove-user" && <RemoveAccount verb="user remove" name={dialog.name} onDone={done} onClose={close} />}
            {dialog?.kind === "remove-group" && <RemoveAccount verb="group remove" name={dialog.name} onDone={done} onClose={close} />}
        </>
    );
}

