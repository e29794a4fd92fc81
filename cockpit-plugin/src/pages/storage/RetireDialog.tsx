// SPDX-License-Identifier: Apache-2.0
/** Takes areas that no drive can read any more out of use: names the files first, and gives up no data unless that is ticked. */
import { useState, type JSX } from "react";
import { Checkbox } from "@patternfly/react-core/dist/esm/components/Checkbox/index.js";
import { Form } from "@patternfly/react-core/dist/esm/components/Form/index.js";
import type { Retirement } from "../../types/millrace";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { TextField } from "../../components/Field";
import { Loaded } from "../../components/States";
import { useChange, useVerb } from "../../lib/hooks";
import { _, format } from "../../lib/i18n";

/** All names of the pool are searched: that takes as long as it takes. */
const NO_LIMIT = { timeout: 0 };

export function RetireDialog({ onClose }: { onClose: () => void }): JSX.Element {
    const survey = useVerb("pool scrub retire", ["--dry-run"], { admin: true, ...NO_LIMIT });
    const retire = useChange("pool scrub retire", NO_LIMIT);
    const [typed, setTyped] = useState("");
    const [zero, setZero] = useState(false);
    const [done, setDone] = useState<Retirement>();
    const word = _("confirmation", "yes");
    const ready = survey.data !== undefined && typed.trim() === word;
    const confirm = async () => setDone(await retire.go([...(zero ? ["--zero-files"] : []), "--yes"]));
    if (done !== undefined) return <Ended found={done} onClose={onClose} />;
    return (
        <ConfirmDialog danger={zero} title={_("Retire the lost areas?")} action={_("Retire areas")} ready={ready} busy={retire.busy} error={retire.error}
            onConfirm={() => void confirm()} onClose={onClose}>
            <Loaded of={survey} what={_("Searching for the files in the lost areas")}>
                {(found) => (
                    <Form onSubmit={(event) => { event.preventDefault(); if (ready && !retire.busy) void confirm(); }}>
                        <p>{_("The drives cannot read these areas any more, and the array rejects writes to them. Retired areas are no longer used by the file system. The pool serves meanwhile.")}</p>
                        <Files title={_("Data of these files are lost:")} names={found.unreadable} />
                        {found.unreadable.length > 0 && (
                            <>
                                <p>{_("Restore these files under other names first, and delete them. What is lost of a file that is still there stays in use, unless you give it up:")}</p>
                                <Checkbox id="retire-zero" isChecked={zero} isDisabled={retire.busy} onChange={(_event, on) => setZero(on)}
                                    label={_("Let these files read as zeros where their data are lost. This cannot be undone.")} />
                            </>
                        )}
                        <Files title={_("These files lose nothing; some of their blocks get another place:")} names={found.readable} />
                        <TextField id="retire-yes" label={format(_("Type “$0” to confirm"), word)} value={typed} onChange={setTyped} disabled={retire.busy} />
                    </Form>
                )}
            </Loaded>
        </ConfirmDialog>
    );
}

function Files({ title, names }: { title: string; names: string[] }): JSX.Element | null {
    if (names.length === 0) return null;
    return <div><p>{title}</p><ul>{names.map((name) => <li key={name}><code>{name}</code></li>)}</ul></div>;
}

/** What is retired now, and what stays in use and why. */
function Ended({ found, onClose }: { found: Retirement; onClose: () => void }): JSX.Element {
    const all = found.retired === found.sectors;
    return (
        <ConfirmDialog title={all ? _("The lost areas are retired") : _("Some lost areas are still in use")} action={_("Close")} onConfirm={onClose} onClose={onClose}>
            <p>{format(_("$0 of $1 sectors are retired."), found.retired, found.sectors)}</p>
            {found.left.length > 0 && <ul className="mr-notes" aria-label={_("What stays in use")}>{found.left.map((one) => <li key={one}>{one}</li>)}</ul>}
        </ConfirmDialog>
    );
}
