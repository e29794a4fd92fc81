// SPDX-License-Identifier: Apache-2.0
/** The host name, name servers, time servers and routes. */
import { useState, type JSX } from "react";
import { Form, FormGroup } from "@patternfly/react-core/dist/esm/components/Form/index.js";
import { TextArea } from "@patternfly/react-core/dist/esm/components/TextArea/index.js";
import type { NetworkReport } from "../../types/millrace";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { ChoiceField, TextField } from "../../components/Field";
import { useChange } from "../../lib/hooks";
import { _ } from "../../lib/i18n";
import { CHANGE_SECONDS } from "../../lib/seconds";
import * as rules from "../../types/rules";
import type { Ends } from "./link-dialogs";
import { list } from "./words";

interface Asked extends Ends { report: NetworkReport }

export function HostNameDialog({ report, onDone, onClose }: Asked): JSX.Element {
    const [name, setName] = useState(report.host_name);
    const change = useChange("network hostname", { timeout: CHANGE_SECONDS });
    const problem = name === "" ? undefined : rules.hostName(name);
    const confirm = async () => {
        const done = await change.go([name]);
        if (done !== undefined) onDone(done);
    };
    return (
        <ConfirmDialog title={_("Change the host name")} action={_("Apply")} ready={name !== "" && problem === undefined && name !== report.host_name}
            busy={change.busy} error={change.error} onConfirm={() => void confirm()} onClose={onClose}>
            <Form onSubmit={(event) => event.preventDefault()}>
                <TextField id="host-name" label={_("Host name")} required value={name} onChange={setName} problem={problem} placeholder="nas.example.com"
                    help={_("In full, where this server has a DNS domain. The certificate is renewed with it.")} />
            </Form>
        </ConfirmDialog>
    );
}

/** One at a time: each change is confirmed by itself. */
export function ServersDialog({ report, onDone, onClose }: Asked): JSX.Element {
    const [kind, setKind] = useState<"dns" | "ntp">("dns");
    const [dns, setDns] = useState(report.dns.join(" "));
    const [search, setSearch] = useState(report.search.join(" "));
    const [ntp, setNtp] = useState(report.ntp.join(" "));
    const setNames = useChange("network dns", { timeout: CHANGE_SECONDS });
    const setTime = useChange("network ntp", { timeout: CHANGE_SECONDS });
    const first = (values: string[], rule: (text: string) => string | undefined) => values.map(rule).find((one) => one !== undefined);
    const problems = { dns: first(list(dns), rules.hostAddress), search: first(list(search), rules.hostName), ntp: first(list(ntp), rules.hostName) };
    const good = kind === "dns" ? problems.dns === undefined && problems.search === undefined : problems.ntp === undefined;
    const confirm = async () => {
        const done = kind === "dns"
            ? await setNames.go([...list(dns), ...list(search).map((one) => `--search=${one}`)])
            : await setTime.go(list(ntp));
        if (done !== undefined) onDone(done);
    };
    return (
        <ConfirmDialog title={_("Change DNS or NTP")} action={_("Apply")} ready={good} busy={setNames.busy || setTime.busy}
            error={setNames.error ?? setTime.error} onConfirm={() => void confirm()} onClose={onClose}>
            <Form onSubmit={(event) => event.preventDefault()}>
                <ChoiceField id="server-kind" label={_("Servers")} value={kind} onChange={setKind}
                    options={[{ value: "dns", label: _("DNS: names") }, { value: "ntp", label: _("NTP: time") }]} />
                {kind === "dns" ? (
                    <>
                        <TextField id="dns-servers" label={_("DNS servers")} value={dns} onChange={setDns} problem={problems.dns}
                            placeholder={_("from DHCP")} help={_("Addresses, 3 at most. Separate with spaces.")} />
                        <TextField id="dns-search" label={_("Search domains")} value={search} onChange={setSearch} problem={problems.search} placeholder="example.com" />
                    </>
                ) : (
                    <TextField id="ntp-servers" label={_("NTP servers")} value={ntp} onChange={setNtp} problem={problems.ntp}
                        placeholder={_("from DHCP, or the default")} help={_("Names or addresses. Separate with spaces.")} />
                )}
                <p>{_("A server that does not respond is a warning.")}</p>
            </Form>
        </ConfirmDialog>
    );
}

export function RoutesDialog({ report, onDone, onClose }: Asked): JSX.Element {
    const before = report.routes.map(({ network, gateway }) => `${network}=${gateway}`).join("\n");
    const [routes, setRoutes] = useState(before);
    const change = useChange("network routes", { timeout: CHANGE_SECONDS });
    const confirm = async () => {
        const done = await change.go(list(routes));
        if (done !== undefined) onDone(done);
    };
    return (
        <ConfirmDialog title={_("Change static routes")} action={_("Apply")} ready={routes !== before} busy={change.busy} error={change.error}
            onConfirm={() => void confirm()} onClose={onClose}>
            <Form onSubmit={(event) => event.preventDefault()}>
                <FormGroup fieldId="routes" label={_("Static routes")}>
                    <TextArea id="routes" value={routes} rows={4} placeholder="10.2.0.0/16=10.1.0.1" spellCheck={false} aria-describedby="routes-said"
                        onChange={(_event, text) => setRoutes(text)} />
                </FormGroup>
                <p id="routes-said">{_("One for each line: a network, =, and the gateway, which is in the network of a static address.")}</p>
            </Form>
        </ConfirmDialog>
    );
}
