// SPDX-License-Identifier: Apache-2.0
/** Destruction of the pool: all that is lost is shown before the name can be typed. The server goes on without this page. */
import { useEffect, useRef, useState, type JSX } from "react";
import { Checkbox } from "@patternfly/react-core/dist/esm/components/Checkbox/index.js";
import { Form } from "@patternfly/react-core/dist/esm/components/Form/index.js";
import type { DestroyStatus } from "../../types/millrace";
import type { Outputs } from "../../types/outputs";
import { AdminButton } from "../../components/AdminButton";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { TextField } from "../../components/Field";
import { Panel } from "../../components/Panel";
import { ProgressEta } from "../../components/ProgressEta";
import { Loaded } from "../../components/States";
import { bytes } from "../../lib/format";
import { useVerb } from "../../lib/hooks";
import { _, format, ngettext } from "../../lib/i18n";
import { jobTitle } from "../../lib/jobs";
import { follow, type CliError } from "../../lib/millrace";

type Line = Outputs["pool destroy"];

export function DestroyPanel({ onDone }: { onDone: () => void }): JSX.Element {
    const [asked, ask] = useState(false);
    return (
        <>
            <Panel title={_("Destroy the pool")} testId="destroy">
                <div className="mr-stack">
                    <p>{_("All data on the pool is lost. Then another pool can be built from its drives, for example with another layout.")}</p>
                    <div className="mr-actions">
                        <AdminButton variant="secondary" isDanger onClick={() => ask(true)}>{_("Destroy the pool…")}</AdminButton>
                    </div>
                </div>
            </Panel>
            {asked && <DestroyDialog onDone={onDone} onClose={() => ask(false)} />}
        </>
    );
}

function DestroyDialog({ onDone, onClose }: { onDone: () => void; onClose: () => void }): JSX.Element {
    const status = useVerb("pool destroy --status", [], { admin: true });
    const [typed, setTyped] = useState("");
    const [ends, setEnds] = useState(false);
    const [line, setLine] = useState<Line>();
    const [busy, setBusy] = useState(false);
    const [error, setError] = useState<CliError>();
    const stop = useRef<AbortController | undefined>(undefined);
    useEffect(() => () => stop.current?.abort(), []);
    const now = status.data;
    const free = now !== undefined && now.obstacle === null;
    const ready = free && typed === now.name && (ends || now.in_use === null);
    const destroy = () => {
        const signal = (stop.current = new AbortController()).signal;
        setBusy(true);
        setError(undefined);
        follow("pool destroy", [`--name=${typed}`, ...(ends ? ["--end"] : [])], setLine, { admin: true, signal }).then(() => {
            if (signal.aborted) return;
            setBusy(false);
            onClose();
            onDone();
        }, (failed: CliError) => {
            setBusy(false);
            setError(failed);
        });
    };
    const progress = line !== undefined && "total" in line ? line : undefined;
    return (
        <ConfirmDialog danger title={_("Destroy the pool with all data on it?")} action={_("Destroy pool")} ready={ready} busy={busy} error={error}
            onConfirm={destroy} onClose={onClose}>
            <Loaded of={status} what={_("Loading what is lost")}>
                {(found) => (
                    <div className="mr-stack">
                        <Lost status={found} />
                        {found.obstacle !== null && <p role="alert">{format(_("Not possible now: $0"), found.obstacle)}</p>}
                        {busy
                            ? <ProgressEta title={_("Destroying the pool")} secondsLeft={undefined}
                                progress={progress === undefined ? null : progress.done / progress.total} />
                            : free && (
                                <Form onSubmit={(event) => event.preventDefault()}>
                                    {found.in_use !== null && (
                                        <Checkbox id="destroy-end" label={_("Disconnect clients, and end jobs that use the pool")} isChecked={ends}
                                            onChange={(_event, checked) => setEnds(checked)} />
                                    )}
                                    <TextField id="destroy-name" label={format(_("Type “$0” to confirm"), found.name)} value={typed} onChange={setTyped} />
                                </Form>
                            )}
                    </div>
                )}
            </Loaded>
        </ConfirmDialog>
    );
}

function Lost({ status }: { status: DestroyStatus }): JSX.Element {
    const { used, shares, volumes, drives, clients, jobs } = status;
    const here = drives.filter((one) => one.here).map(({ serial }) => serial);
    const missing = drives.filter((one) => !one.here).map(({ serial, bay }) => (bay === null ? serial : format(_("$0 (bay $1)"), serial, bay)));
    const hosts = [...new Set(clients.map(({ host }) => host))].sort();
    const held = (name: string, size: number | null) => (size === null ? name : format(_("size of a thing", "$0 ($1)"), name, bytes(size)));
    return (
        <>
            <ul className="mr-notes" aria-label={_("What is lost")}>
                <li>{used === null ? _("All data on the pool.") : format(_("All data on the pool: $0."), bytes(used))}</li>
                {shares.length > 0 && <li>{format(_("Shares: $0"), shares.map((one) => held(one.name, one.used)).join(", "))}</li>}
                {volumes.length > 0 && <li>{format(_("Volumes: $0"), volumes.map((one) => held(one.name, one.size)).join(", "))}</li>}
                <li>{_("The state of this server that is kept on the pool.")}</li>
                {hosts.length > 0 && (
                    <li>{format(ngettext("$0 client is disconnected: $1", "$0 clients are disconnected: $1", hosts.length), hosts.length, hosts.join(", "))}</li>
                )}
                {jobs.map((name) => <li key={name}>{format(_("Ended: $0"), jobTitle(name))}</li>)}
                <li>{format(ngettext("The partition table and superblocks of $0 drive: $1", "The partition tables and superblocks of $0 drives: $1", here.length), here.length, here.join(", "))}</li>
            </ul>
            {missing.length > 0 && (
                <p role="alert">{format(_("Not in this server: $0. They keep their part of the pool, which is found again when they are put in."), missing.join(", "))}</p>
            )}
            <p>{_("Users, groups, passwords, addresses, certificate, domain and policy stay. The data themselves are not overwritten: erase drives before you give them away.")}</p>
        </>
    );
}
