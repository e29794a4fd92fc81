// SPDX-License-Identifier: Apache-2.0
/** Dialogs of people. Passwords and keys go to the program's standard input, never to its command line. */
import { useState, type JSX } from "react";
import { Form } from "@patternfly/react-core/dist/esm/components/Form/index.js";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { ChoiceField, TextField } from "../../components/Field";
import { usePassword } from "../../components/usePassword";
import { useChange } from "../../lib/hooks";
import { _, format } from "../../lib/i18n";
import type { Role } from "../../lib/permission";
import { accountName, fullName as fullNameRule } from "../../types/rules";
import { roleMeaning, roles, roleWord, type Person } from "./words";

interface Ends {
    onDone: (sentence: string) => void;
    onClose: () => void;
}

function RoleChoice({ role, onChange, disabled = false }: { role: Role; onChange: (role: Role) => void; disabled?: boolean }): JSX.Element {
    return (
        <ChoiceField id="role" label={_("Role")} value={role} onChange={onChange} disabled={disabled} help={roleMeaning(role)}
            options={roles.map((value) => ({ value, label: roleWord(value) }))} />
    );
}

export function NewPerson({ taken, onDone, onClose }: Ends & { taken: string[] }): JSX.Element {
    const [name, setName] = useState("");
    const [fullName, setFullName] = useState("");
    const [role, setRole] = useState<Role>("administrator");
    const [key, setKey] = useState("");
    const password = usePassword(_("Used for the web console and sudo."));
    const create = useChange("access create");
    const problem = name === "" ? undefined : taken.includes(name) ? format(_("user or group $0 already exists"), name) : accountName(name);
    const wrongName = fullNameRule(fullName);
    const withKey = role === "administrator" && key.trim() !== "";
    const confirm = async () => {
        const report = await create.go(
            [name, `--role=${role}`, ...(fullName === "" ? [] : [`--full-name=${fullName}`]), "--password-stdin", ...(withKey ? ["--key-stdin"] : [])],
            withKey ? `${password.input}${key.trim()}\n` : password.input);
        if (report !== undefined) onDone(report.done);
    };
    return (
        <ConfirmDialog title={_("New person")} action={_("Create person")} busy={create.busy} error={create.error}
            ready={name !== "" && problem === undefined && wrongName === undefined && password.good} onConfirm={() => void confirm()} onClose={onClose}>
            <Form onSubmit={(event) => event.preventDefault()}>
                <TextField id="person-name" required label={_("Account")} value={name} onChange={setName} problem={problem} />
                <TextField id="full-name" label={_("Full name")} value={fullName} onChange={setFullName} problem={wrongName} />
                <RoleChoice role={role} onChange={setRole} />
                {password.fields}
                {role === "administrator" && (
                    <TextField id="ssh-key" label={_("Public SSH key")} value={key} onChange={setKey}
                        help={_("Optional: one line of a file such as id_ed25519.pub. Keys of security keys (sk-…) are accepted.")} />
                )}
            </Form>
        </ConfirmDialog>
    );
}

export function ChangePerson({ person, onDone, onClose }: Ends & { person: Person }): JSX.Element {
    const [fullName, setFullName] = useState(person.full_name);
    const [role, setRole] = useState<Role>(person.role);
    const change = useChange("access set");
    const wrongName = fullNameRule(fullName);
    const confirm = async () => {
        const report = await change.go([person.name, `--full-name=${fullName}`, ...(role === person.role ? [] : [`--role=${role}`])]);
        if (report !== undefined) onDone(report.done);
    };
    return (
        <ConfirmDialog title={format(_("Change $0"), person.name)} action={_("Save")} ready={wrongName === undefined} busy={change.busy} error={change.error}
            onConfirm={() => void confirm()} onClose={onClose}>
            <Form onSubmit={(event) => event.preventDefault()}>
                <TextField id="full-name" label={_("Full name")} value={fullName} onChange={setFullName} problem={wrongName} />
                <RoleChoice role={role} onChange={setRole} disabled={person.name === "admin"} />
            </Form>
        </ConfirmDialog>
    );
}

export function AddKey({ person, onDone, onClose }: Ends & { person: Person }): JSX.Element {
    const [key, setKey] = useState("");
    const add = useChange("access key add");
    const confirm = async () => {
        const report = await add.go([person.name], `${key.trim()}\n`);
        if (report !== undefined) onDone(report.done);
    };
    return (
        <ConfirmDialog title={format(_("New SSH key of $0"), person.name)} action={_("Add key")} ready={key.trim() !== ""} busy={add.busy} error={add.error}
            onConfirm={() => void confirm()} onClose={onClose}>
            <Form onSubmit={(event) => event.preventDefault()}>
                <TextField id="ssh-key" required label={_("Public SSH key")} value={key} onChange={setKey}
                    help={_("One line of a file such as id_ed25519.pub. Keys of security keys (sk-…) are accepted.")} />
            </Form>
        </ConfirmDialog>
    );
}

/** Confirms a change of an account that has no further input. */
export function SureDialog({ verb, words, title, action, children, onDone, onClose }: Ends & {
    verb: "access lock" | "access remove" | "access key remove"; words: string[]; title: string; action: string; children: string;
}): JSX.Element {
    const change = useChange(verb);
    const confirm = async () => {
        const report = await change.go(words);
        if (report !== undefined) onDone(report.done);
    };
    return (
        <ConfirmDialog danger title={title} action={action} busy={change.busy} error={change.error} onConfirm={() => void confirm()} onClose={onClose}>
            <p>{children}</p>
        </ConfirmDialog>
    );
}
