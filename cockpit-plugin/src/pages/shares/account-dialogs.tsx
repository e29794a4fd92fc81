// SPDX-License-Identifier: Apache-2.0
/** Dialogs of users and groups. Passwords go to the program's standard input, never to its command line. */
import { useState, type JSX } from "react";
import { Checkbox } from "@patternfly/react-core/dist/esm/components/Checkbox/index.js";
import { Form, FormGroup } from "@patternfly/react-core/dist/esm/components/Form/index.js";
import type { User } from "../../types/millrace";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { TextField } from "../../components/Field";
import { usePassword } from "../../components/usePassword";
import { useChange } from "../../lib/hooks";
import { _, format } from "../../lib/i18n";
import { accountName } from "../../types/rules";

interface Ends {
    /** With the program's sentence, and the name of an account that was made. */
    onDone: (sentence: string, name?: string) => void;
    onClose: () => void;
}

function nameProblem(name: string, taken: string[]): string | undefined {
    if (name === "") return undefined;
    if (taken.includes(name)) return format(_("user or group $0 already exists"), name);
    return accountName(name);
}

function GroupChoice({ groups, chosen, onChange }: {
    groups: string[]; chosen: string[]; onChange: (chosen: string[]) => void;
}): JSX.Element {
    return (
        <FormGroup role="group" label={_("Groups")} fieldId="groups">
            {groups.length === 0 && <p>{_("No groups yet.")}</p>}
            {groups.map((group) => (
                <Checkbox key={group} id={`group-${group}`} label={group} isChecked={chosen.includes(group)}
                    onChange={(_event, checked) => onChange(checked ? [...chosen, group] : chosen.filter((one) => one !== group))} />
            ))}
        </FormGroup>
    );
}

const groupWords = (groups: string[]) => groups.map((group) => `--group=${group}`);

export function NewUser({ groups, taken, first = [], onDone, onClose }: Ends & {
    groups: string[]; taken: string[];
    /** Groups that are ticked at first. */
    first?: string[];
}): JSX.Element {
    const [name, setName] = useState("");
    const [chosen, setChosen] = useState<string[]>(first);
    const password = usePassword(_("Used for login and SMB."));
    const create = useChange("user create");
    const problem = nameProblem(name, taken);
    const confirm = async () => {
        const report = await create.go([name, ...groupWords(chosen), "--password-stdin"], password.input);
        if (report !== undefined) onDone(report.done, name);
    };
    return (
        <ConfirmDialog title={_("New user")} action={_("Create user")} ready={name !== "" && problem === undefined && password.good}
            busy={create.busy} error={create.error} onConfirm={() => void confirm()} onClose={onClose}>
            <Form onSubmit={(event) => event.preventDefault()}>
                <TextField id="user-name" required label={_("Name")} value={name} onChange={setName} problem={problem} />
                {password.fields}
                <GroupChoice groups={groups} chosen={chosen} onChange={setChosen} />
            </Form>
        </ConfirmDialog>
    );
}

export function PasswordDialog({ name, onDone, onClose }: Ends & { name: string }): JSX.Element {
    const password = usePassword(_("Used for login and SMB."));
    const change = useChange("user passwd");
    const confirm = async () => {
        const report = await change.go([name, "--password-stdin"], password.input);
        if (report !== undefined) onDone(report.done);
    };
    return (
        <ConfirmDialog title={format(_("New password of $0"), name)} action={_("Set password")} ready={password.good} busy={change.busy}
            error={change.error} onConfirm={() => void confirm()} onClose={onClose}>
            <Form onSubmit={(event) => event.preventDefault()}>{password.fields}</Form>
        </ConfirmDialog>
    );
}

export function UserDialog({ user, groups, onDone, onClose }: Ends & { user: User; groups: string[] }): JSX.Element {
    const [chosen, setChosen] = useState(user.groups);
    const change = useChange("user set");
    const confirm = async () => {
        const report = await change.go([user.name, ...groupWords(chosen)]);
        if (report !== undefined) onDone(report.done);
    };
    return (
        <ConfirmDialog title={format(_("Change the user $0"), user.name)} action={_("Save")} busy={change.busy} error={change.error}
            onConfirm={() => void confirm()} onClose={onClose}>
            <Form onSubmit={(event) => event.preventDefault()}>
                <GroupChoice groups={groups} chosen={chosen} onChange={setChosen} />
            </Form>
        </ConfirmDialog>
    );
}

export function NewGroup({ taken, onDone, onClose }: Ends & { taken: string[] }): JSX.Element {
    const [name, setName] = useState("");
    const create = useChange("group create");
    const problem = nameProblem(name, taken);
    const confirm = async () => {
        const report = await create.go([name]);
        if (report !== undefined) onDone(report.done, name);
    };
    return (
        <ConfirmDialog title={_("New group")} action={_("Create group")} ready={name !== "" && problem === undefined} busy={create.busy}
            error={create.error} onConfirm={() => void confirm()} onClose={onClose}>
            <Form onSubmit={(event) => event.preventDefault()}><TextField id="group-name" required label={_("Name")} value={name} onChange={setName} problem={problem} /></Form>
        </ConfirmDialog>
    );
}

export function RemoveAccount({ verb, name, onDone, onClose }: Ends & {
    verb: "user remove" | "group remove"; name: string;
}): JSX.Element {
    const remove = useChange(verb);
    const confirm = async () => {
        const report = await remove.go([name]);
        if (report !== undefined) onDone(report.done);
    };
    return (
        <ConfirmDialog danger title={verb === "user remove" ? format(_("Remove the user $0?"), name) : format(_("Remove the group $0?"), name)}
            action={_("Remove")} busy={remove.busy} error={remove.error} onConfirm={() => void confirm()} onClose={onClose}>
            <p>{_("Files keep the numeric ID of their owner; the ID is never reused.")}</p>
        </ConfirmDialog>
    );
}
