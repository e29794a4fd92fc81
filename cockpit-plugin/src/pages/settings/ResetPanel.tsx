// SPDX-License-Identifier: Apache-2.0
/** Factory reset: what goes and what stays is shown before anything can be typed. */
import { useState, type JSX } from "react";
import { Form } from "@patternfly/react-core/dist/esm/components/Form/index.js";
import type { ResetStatus } from "../../types/millrace";
import { AdminButton } from "../../components/AdminButton";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { TextField } from "../../components/Field";
import { Panel } from "../../components/Panel";
import { Loaded } from "../../components/States";
import { moment } from "../../lib/format";
import { useChange, useVerb } from "../../lib/hooks";
import { _, format, ngettext } from "../../lib/i18n";
import { Done, type Outcome } from "../../components/Done";

/** The state is written to the pool and read back; people are forgotten there. */
const RESET_SECONDS = 900;
const WORD = "FORGET";

type What = "keep" | "forget";

export function ResetPanel(): JSX.Element {
    const [asked, ask] = useState<What>();
    const [did, setDid] = useState<Outcome>();
    const done = () => {
        ask(undefined);
        setDid({
            title: _("The server restarts and is reset."),
            lines: [_("Its console shows the one-time password of admin and the address of this page.")],
            warnings: [],
        });
    };
    return (
        <>
            <Done did={did} onClose={() => setDid(undefined)} />
            <Panel title={_("Factory reset")} testId="reset">
                <div className="mr-stack">
                    <p>{_("The boot drive becomes as on its first day. The pool and its data stay.")}</p>
                    <div className="mr-actions">
                        <AdminButton variant="secondary" isDanger onClick={() => ask("keep")}>{_("Reset and keep the pool…")}</AdminButton>
                        <AdminButton variant="secondary" isDanger onClick={() => ask("forget")}>{_("Reset and forget people…")}</AdminButton>
                    </div>
                </div>
            </Panel>
            {asked !== undefined && <ResetDialog what={asked} onDone={done} onClose={() => ask(undefined)} />}
        </>
    );
}

function ResetDialog({ what, onDone, onClose }: { what: What; onDone: () => void; onClose: () => void }): JSX.Element {
    const found = useVerb("reset show", [], { admin: true });
    const reset = useChange("reset start", { timeout: RESET_SECONDS });
    const [host, setHost] = useState("");
    const [word, setWord] = useState("");
    const now = found.data;
    const free = now !== undefined && now.obstacle === null && now.under_way === null;
    const ready = free && host === now.host && (what === "keep" || word === WORD);
    const confirm = async () => {
        const forget = what === "forget" ? ["--forget-people", `--word=${word}`] : [];
        if (await reset.go([`--host=${host}`, ...forget]) !== undefined) onDone();
    };
    return (
        <ConfirmDialog danger title={what === "keep" ? _("Reset this server and keep the pool?") : _("Reset this server and forget people?")}
            action={_("Reset and restart")} ready={ready} busy={reset.busy} error={reset.error} onConfirm={() => void confirm()} onClose={onClose}>
            <Loaded of={found} what={_("Loading what is reset")}>
                {(status) => (
                    <div className="mr-stack">
                        <Consequences status={status} what={what} />
                        {status.obstacle !== null && <p role="alert">{format(_("Not possible now: $0"), status.obstacle)}</p>}
                        {free && (
                            <Form onSubmit={(event) => event.preventDefault()}>
                                <TextField id="reset-host" label={format(_("Type “$0” to confirm"), status.host)} value={host} onChange={setHost} disabled={reset.busy} />
                                {what === "forget" && (
                                    <TextField id="reset-word" label={format(_("Type “$0” to confirm"), WORD)} value={word} onChange={setWord} disabled={reset.busy} />
                                )}
                            </Form>
                        )}
                    </div>
                )}
            </Loaded>
        </ConfirmDialog>
    );
}

function Consequences({ status, what }: { status: ResetStatus; what: What }): JSX.Element {
    const { pool, users, shares, clients, credentials, domain, last } = status;
    const names = (all: string[]) => (all.length === 0 ? _("none") : all.join(", "));
    const hosts = [...new Set(clients.map((one) => one.host))].sort();
    const gone = pool === null || what === "forget";
    return (
        <>
            <ul className="mr-notes" aria-label={_("What is removed")}>
                <li>{_("Everything on the boot drive but Millrace itself: its journal, measurements, changes made by hand.")}</li>
                {pool === null && <li>{_("Users, passwords, keys and addresses: this server has no pool that they are kept on.")}</li>}
                {pool !== null && gone && (
                    <li>{format(_("On the pool, too: users ($0), passwords, keys, certificates, SIDs and alert routes."), names(users))}</li>
                )}
                {gone && domain !== null && <li>{format(_("Not the computer account in $0: delete it there, or leave the domain first."), domain)}</li>}
            </ul>
            <ul className="mr-notes" aria-label={_("What stays")}>
                {pool !== null && !gone && <li>{_("On the pool: data, shares, users, passwords and keys. They come back when the pool is adopted.")}</li>}
                {pool !== null && !gone && status.sealed && <li>{_("Passwords and keys on the pool are encrypted: without the passphrase they do not come back.")}</li>}
                {pool !== null && gone && (
                    <>
                        <li>{format(_("On the pool: all data, and the shares as directories: $0."), names(shares))}</li>
                        <li>{_("After the pool is adopted, no share is exported until you allow clients and users again. Files keep the numbers of their owners.")}</li>
                    </>
                )}
                {credentials.length > 0 && <li>{format(_("On the boot partition, and applied again: $0."), credentials.join(", "))}</li>}
            </ul>
            <p>{_("Until the pool is adopted, the server has new keys, a new host name and an address by DHCP. The password of admin is on its console.")}</p>
            {hosts.length > 0 && (
                <p>{format(ngettext("$0 client is disconnected: $1", "$0 clients are disconnected: $1", hosts.length), hosts.length, names(hosts))}</p>
            )}
            {last !== null && <p className="mr-subtle">{format(_("Last reset: by $0, $1"), last.by, moment(last.at))}</p>}
        </>
    );
}
