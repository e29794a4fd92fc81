// SPDX-License-Identifier: Apache-2.0
import { useState, type JSX } from "react";
import { Form } from "@patternfly/react-core/dist/esm/components/Form/index.js";
import type { PathMtu } from "../../types/millrace";
import { AdminButton } from "../../components/AdminButton";
import { TextField } from "../../components/Field";
import { HealthLabel } from "../../components/Health";
import { Panel } from "../../components/Panel";
import { ErrorAlert } from "../../components/States";
import { useChange } from "../../lib/hooks";
import { _, format } from "../../lib/i18n";
import * as rules from "../../types/rules";

/** Seconds: a path that carries less than configured is searched for, ping by ping. */
const PATIENCE = 60;

function Measured({ path: { client, link, configured, carried } }: { path: PathMtu }): JSX.Element {
    if (carried === null)
        return <HealthLabel level="UNKNOWN">{format(_("$0 answers no ping through $1."), client, link)}</HealthLabel>;
    if (carried < configured)
        return <HealthLabel level="WARN">{format(_("The path to $0 carries $1 bytes; $2 sends $3."), client, carried, link, configured)}</HealthLabel>;
    return <HealthLabel level="OK">{format(_("The path to $0 carries the $1 bytes of $2."), client, configured, link)}</HealthLabel>;
}

/** What the path to a client carries without a fragment. */
export function PathPanel(): JSX.Element {
    const [client, setClient] = useState("");
    const [path, setPath] = useState<PathMtu>();
    const test = useChange("network path-mtu", { timeout: PATIENCE });
    const problem = client === "" ? undefined : rules.hostAddress(client);
    const go = async () => {
        setPath(undefined);
        setPath(await test.go([client]));
    };
    return (
        <Panel title={_("Path MTU")} testId="path-mtu">
            <Form onSubmit={(event) => { event.preventDefault(); if (client !== "" && problem === undefined) void go(); }}>
                <p>{_("Pings a client with packets of the configured MTU that no switch or router may fragment.")}</p>
                <TextField id="path-client" label={_("Address of the client")} value={client} onChange={setClient} problem={problem} placeholder="10.1.0.20" />
                <ErrorAlert error={test.error} />
                <div role="status">{path !== undefined && <Measured path={path} />}</div>
                <div className="mr-actions">
                    <AdminButton variant="secondary" type="submit" isDisabled={client === "" || problem !== undefined || test.busy} isLoading={test.busy}>
                        {_("Test the path")}
                    </AdminButton>
                </div>
            </Form>
        </Panel>
    );
}
