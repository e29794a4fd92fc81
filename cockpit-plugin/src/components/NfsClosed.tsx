// SPDX-License-Identifier: Apache-2.0
/** NFS is exported to nobody until an administrator confirms the networks of the clients: one click on the first day. */
import { useState, type JSX } from "react";
import { Checkbox } from "@patternfly/react-core/dist/esm/components/Checkbox/index.js";
import { Form, FormGroup } from "@patternfly/react-core/dist/esm/components/Form/index.js";
import type { ChangeReport, FoundNetwork } from "../types/millrace";
import { useChange, useVerb } from "../lib/hooks";
import { _, format } from "../lib/i18n";
import { CHANGE_SECONDS } from "../lib/seconds";
import { useStatus } from "../lib/status";
import { AdminButton } from "./AdminButton";
import { TextField } from "./Field";
import { Panel } from "./Panel";
import { ErrorAlert, Loaded } from "./States";

interface Ends { onDone?: (report: ChangeReport) => void }

/** Nothing where no share waits for a network. */
export function NfsClosed(ends: Ends): JSX.Element | null {
    const { data } = useStatus();
    const waits = data !== undefined && data.pool !== null && data.shares.some(({ nfs, networks }) => nfs && networks.length === 0);
    return waits ? <Networks {...ends} /> : null;
}

function Networks({ onDone }: Ends): JSX.Element {
    const list = useVerb("share networks list");
    return (
        <Panel title={_("NFS is closed")} wide testId="nfs-closed">
            <p>{_("NFS trusts the user IDs that clients send. Shares are not exported until the client networks are confirmed.")}</p>
            <Loaded of={list} what={_("Loading networks")}>
                {({ found }) => <Choice found={found} {...(onDone && { onDone })} />}
            </Loaded>
        </Panel>
    );
}

function Choice({ found, onDone }: Ends & { found: FoundNetwork[] }): JSX.Element {
    const { reload } = useStatus();
    const [chosen, setChosen] = useState(() => found.filter((one) => one.proposed).map((one) => one.network));
    const [others, setOthers] = useState("");
    const change = useChange("share networks set", { timeout: CHANGE_SECONDS });
    const networks = [...chosen, ...others.split(/[\s,]+/).filter(Boolean)];
    const confirm = async () => {
        const report = await change.go(networks);
        if (report === undefined) return;
        reload();
        onDone?.(report);
    };
    return (
        <Form onSubmit={(event) => event.preventDefault()}>
            <FormGroup role="group" fieldId="client-networks" label={_("Networks of this server's ports")}>
                {found.map(({ network, port, leased }) => (
                    <Checkbox key={network} id={`network-${network}`} label={format(_("$0 on port $1"), network, port)}
                        {...(leased && { description: _("Dynamic address (DHCP or router advertisement).") })}
                        isChecked={chosen.includes(network)}
                        onChange={(_event, checked) => setChosen(found.map((one) => one.network)
                            .filter((one) => (one === network ? checked : chosen.includes(one))))} />
                ))}
                {found.length === 0 && <p className="mr-subtle">{_("No network port has a usable IP address.")}</p>}
            </FormGroup>
            <TextField id="other-networks" label={_("Other networks")} value={others} onChange={setOthers}
                help={format(_("Separate with spaces, for example $0."), "10.1.0.0/24 10.2.0.0/24")} />
            <ErrorAlert error={change.error} />
            <AdminButton variant="primary" className="mr-start" isLoading={change.busy} isDisabled={change.busy || networks.length === 0}
                onClick={() => void confirm()}>{_("Confirm networks")}</AdminButton>
        </Form>
    );
}
