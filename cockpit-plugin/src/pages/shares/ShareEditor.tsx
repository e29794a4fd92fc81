// SPDX-License-Identifier: Apache-2.0
import { useState, type JSX } from "react";
import { Alert } from "@patternfly/react-core/dist/esm/components/Alert/index.js";
import { Button } from "@patternfly/react-core/dist/esm/components/Button/index.js";
import type { ChangeReport, Config } from "../../types/millrace";
import { AdminButton } from "../../components/AdminButton";
import { PageHeader } from "../../components/PageHeader";
import { Empty, ErrorAlert, Loaded, NoAdmin } from "../../components/States";
import { useChange, useVerb } from "../../lib/hooks";
import { _, format } from "../../lib/i18n";
import { useAdmin } from "../../lib/permission";
import { go } from "../../lib/route";
import { CHANGE_SECONDS } from "../../lib/seconds";
import { GeneralPart } from "./editor/GeneralPart";
import { NfsPart } from "./editor/NfsPart";
import { PreviewPart, useDryRun } from "./editor/PreviewPart";
import { SmbPart } from "./editor/SmbPart";
import { ADMIN, NEW, fromWanted, problems, words, type Form } from "./form";

interface Ends {
    onDone: (report: ChangeReport) => void;
}

const back = () => go(["shares"]);

/** A new share, or the share `name`, with both protocols side by side. */
export function ShareEditor({ name, onDone }: Ends & { name: string | null }): JSX.Element {
    const admin = useAdmin();
    const wanted = useVerb("config show");
    if (admin === false)
        return (
            <>
                <PageHeader title={name === null ? _("New share") : format(_("Change $0"), name)} />
                <NoAdmin what={_("Changing shares requires administrative access.")} />
            </>
        );
    return (
        <Loaded of={wanted} what={_("Loading shares")}>
            {(config) => {
                const share = config.shares.find((one) => one.name === name);
                if (name !== null && share === undefined)
                    return (
                        <Empty title={format(_("Share $0 does not exist"), name)} actions={<Button variant="primary" onClick={back}>{_("Go to shares")}</Button>}>
                            {_("The share may have been removed in the meantime.")}
                        </Empty>
                    );
                // Remounted for another share, not for every answer: what was typed stays.
                return <Editor key={name} config={config} before={share && fromWanted(share)} onDone={onDone} onAccount={wanted.reload} />;
            }}
        </Loaded>
    );
}

function Editor({ config, before, onDone, onAccount }: Ends & {
    config: Config; before: Form | undefined;
    /** There is another user or group. */
    onAccount: () => void;
}): JSX.Element {
    const [made, setMade] = useState<string>();
    // What was there when the editor was opened: only what differs from it is sent.
    const [start] = useState(before);
    const [form, setForm] = useState(before ?? NEW);
    const networks = useVerb("share networks list").data;
    const isNew = start === undefined;
    const save = useChange(isNew ? "share create" : "share set", { timeout: CHANGE_SECONDS });
    const set = (changed: Partial<Form>) => setForm((old) => ({ ...old, ...changed }));
    const found = problems(form, isNew);
    const changed = words(form, start);
    const args = [form.name, ...changed];
    const good = Object.keys(found).length === 0;
    const seen = useDryRun(isNew ? "share create --dry-run" : "share set --dry-run", args, good && (isNew || changed.length > 0));
    const groups = config.groups.map((group) => group.name);
    const accounts = {
        users: [ADMIN, ...config.users.map((user) => user.name)],
        groups,
        taken: [ADMIN, ...config.users.map((user) => user.name), ...groups],
        onMade: (sentence: string) => { setMade(sentence); onAccount(); },
    };
    const confirm = async () => {
        const report = await save.go(args);
        if (report !== undefined) onDone(report);
    };
    return (
        <>
            <PageHeader title={isNew ? _("New share") : format(_("Change $0"), form.name)} />
            {made !== undefined && <Alert variant="success" isInline isPlain title={made} role="status" />}
            <div className="mr-pair">
                <GeneralPart form={form} set={set} problems={found} isNew={isNew} accounts={accounts} />
                <NfsPart form={form} set={set} problems={found} networks={networks} />
                <SmbPart form={form} set={set} problems={found} accounts={accounts} />
                <PreviewPart seen={seen} good={good} />
            </div>
            <ErrorAlert error={save.error} />
            <div className="mr-actions" data-testid="editor-actions">
                <AdminButton variant="primary" isDisabled={!seen.passed || save.busy} isLoading={save.busy}
                    onClick={() => void confirm()}>{isNew ? _("Create share") : _("Save")}</AdminButton>
                <Button variant="link" isDisabled={save.busy} onClick={back}>{_("Cancel")}</Button>
                <span className="mr-subtle" aria-live="polite">
                    {save.busy ? _("Applying and verifying the share; this takes a few seconds.") : ""}
                </span>
            </div>
        </>
    );
}
