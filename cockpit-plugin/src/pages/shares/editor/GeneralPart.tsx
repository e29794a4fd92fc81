// SPDX-License-Identifier: Apache-2.0
import type { JSX } from "react";
import { Form as FormLayout } from "@patternfly/react-core/dist/esm/components/Form/index.js";
import { ChoiceField, TextField } from "../../../components/Field";
import { Panel } from "../../../components/Panel";
import { _ } from "../../../lib/i18n";
import { SHARE_TYPES, WRITINGS } from "../../../types/rules";
import { ADMIN, hasRule } from "../form";
import { typeMeaning, typeWord, writingMeaning, writingWord } from "../words";
import { NewAccount, type Accounts } from "./NewAccount";
import type { PartProps } from "./part";

export function GeneralPart({ form, set, problems, isNew, accounts }: PartProps & { isNew: boolean; accounts: Accounts }): JSX.Element {
    const known = [...new Set([...accounts.groups, ...form.groups, ...(form.group === "" ? [] : [form.group])])];
    // The members open a new share over SMB, and not only the administrator, who is not one of them.
    const choose = (group: string) => set({
        group,
        ...(isNew && group !== "" && !form.groups.includes(group) && {
            groups: [...form.groups, group],
            users: form.writing === "together" ? form.users.filter((one) => one !== ADMIN) : form.users,
        }),
    });
    return (
        <Panel title={_("Share")} wide testId="part-general">
            <FormLayout className="mr-fields" onSubmit={(event) => event.preventDefault()}>
                <TextField id="name" label={_("Name")} required disabled={!isNew} value={form.name} onChange={(name) => set({ name })}
                    problem={form.name === "" ? undefined : problems["name"]}
                    help={isNew ? _("Also the name of the directory. An existing directory is used with its contents.")
                        : _("The name cannot be changed: clients mount the share by its name.")} />
                <ChoiceField id="share-type" label={_("Share type")} value={form.type} onChange={(type) => set({ type })}
                    options={SHARE_TYPES.map((value) => ({ value, label: typeWord(value) }))} help={typeMeaning(form.type)} />
                {!hasRule(form.type) && (
                    <ChoiceField id="writing" label={_("Writing")} value={form.writing} onChange={(writing) => set({ writing, ...(writing === "own" && { group: "" }) })}
                        options={WRITINGS.map((value) => ({ value, label: writingWord(value) }))} help={writingMeaning(form.writing, form.group)} />
                )}
                {!hasRule(form.type) && form.writing !== "own" && (
                    <div className="mr-stack">
                        <ChoiceField id="group" label={_("Group that writes")} value={form.group} onChange={choose}
                            options={[{ value: "", label: form.writing === "some" ? _("Select a group") : _("None: all users of the share") },
                                ...known.map((value) => ({ value, label: value }))]} problem={problems["group"]} />
                        <NewAccount kind="group" accounts={accounts} onName={choose} />
                    </div>
                )}
                <TextField id="size" label={_("Size limit")} value={form.size} onChange={(size) => set({ size })}
                    placeholder={_("no limit")} problem={problems["size"]} help={_("For example 500G or 10T (powers of 1024).")} />
                <TextField id="soft-size" label={_("Soft limit")} value={form.softSize} onChange={(softSize) => set({ softSize })}
                    placeholder={_("none")} problem={problems["softSize"]} help={_("Writes fail after 7 days above the soft limit.")} />
                <TextField id="child-size" label={_("Quota of each directory")} value={form.childSize} onChange={(childSize) => set({ childSize })}
                    placeholder={_("none")} problem={problems["childSize"]} help={_("Of each directory at the top, also of new ones; instead of a size.")} />
                <TextField id="comment" label={_("Comment")} value={form.comment} onChange={(text) => set({ comment: text })}
                    problem={problems["comment"]} help={_("One line; shown to SMB clients.")} />
            </FormLayout>
        </Panel>
    );
}
