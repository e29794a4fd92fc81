// SPDX-License-Identifier: Apache-2.0
/** Clients that a run can drive: fetched the program, waiting for this server, added. */
import { useState, type JSX } from "react";
import type { BenchClient } from "../../types/millrace";
import type { Outputs } from "../../types/outputs";
import { AdminButton } from "../../components/AdminButton";
import { CopyBlock } from "../../components/CopyBlock";
import { DataTable } from "../../components/DataTable";
import { DownloadButton } from "../../components/DownloadButton";
import { TextField } from "../../components/Field";
import { Panel } from "../../components/Panel";
import { ErrorAlert, Loaded } from "../../components/States";
import { binary, number } from "../../lib/format";
import { useChange, type Result } from "../../lib/hooks";
import { _, format } from "../../lib/i18n";

/** Seconds: a client that does not answer is waited for. */
const ADD_SECONDS = 180;
const PROGRAM = "millrace-bench.pyz";

export function ClientsPanel({ of }: { of: Result<Outputs["bench clients list"]> }): JSX.Element {
    return (
        <Panel title={_("Benchmark clients")} wide testId="bench-clients">
            <Loaded of={of} what={_("Loading clients")}>
                {({ clients }) => (
                    <div className="mr-stack">
                        {clients.length > 0 && <Known clients={clients} onChanged={of.reload} />}
                        <Another onAdded={of.reload} />
                    </div>
                )}
            </Loaded>
        </Panel>
    );
}

function Known({ clients, onChanged }: { clients: BenchClient[]; onChanged: () => void }): JSX.Element {
    const forget = useChange("bench clients remove");
    const drop = async (name: string) => { if (await forget.go([name]) !== undefined) onChanged(); };
    return (
        <>
            <ErrorAlert error={forget.error} />
            <DataTable label={_("Benchmark clients")} rows={clients} rowKey={({ name }) => name} columns={[
                { title: _("Client"), heads: true, cell: ({ name, address }) => (name === address ? name : `${name} (${address})`) },
                { title: _("CPUs"), figures: true, cell: ({ facts }) => number(facts.cpus) },
                { title: _("Memory"), figures: true, cell: ({ facts }) => binary(facts.memory) },
                { title: "RDMA", cell: ({ facts }) => (facts.rdma ? _("yes") : _("no")) },
                { title: "fio", cell: ({ facts }) => facts.fio },
                {
                    title: _("Forget"),
                    cell: ({ name }) => (
                        <AdminButton variant="secondary" size="sm" isDisabled={forget.busy} aria-label={format(_("Forget $0"), name)}
                            onClick={() => void drop(name)}>{_("Forget")}</AdminButton>
                    ),
                },
            ]} />
        </>
    );
}

/** The way to one more. */
function Another({ onAdded }: { onAdded: () => void }): JSX.Element {
    const [host, setHost] = useState("");
    const [token, setToken] = useState("");
    const add = useChange("bench clients add", { timeout: ADD_SECONDS });
    const go = async () => {
        if (await add.go([host.trim(), "--token-stdin"], `${token.trim()}\n`) === undefined) return;
        setHost("");
        setToken("");
        onAdded();
    };
    return (
        <div className="mr-stack">
            <p>{_("A run can use real NFS clients in parallel and adds up their throughput. Each client needs Python, fio 3.16 or later, and the client program, which listens for this server and shows a token.")}</p>
            <div className="mr-actions">
                <DownloadButton words={["client", "bench", "-"]} file={PROGRAM} type="application/zip" admin>{_("Client program")}</DownloadButton>
            </div>
            <CopyBlock label={_("Run as root on the client; SERVER is the address of this server")} text={`python3 ${PROGRAM} --listen SERVER`} />
            <ErrorAlert error={add.error} />
            <div className="mr-fields">
                <TextField id="bench-client" label={_("Name or address of the client")} value={host} onChange={setHost} />
                <TextField id="bench-token" label={_("Token")} value={token} onChange={setToken}
                    help={_("Shown by the client program; changes at each start.")} />
                <div className="mr-actions">
                    <AdminButton variant="secondary" isLoading={add.busy} isDisabled={add.busy || host.trim() === "" || token.trim() === ""}
                        onClick={() => void go()}>{_("Add the client")}</AdminButton>
                </div>
            </div>
        </div>
    );
}
