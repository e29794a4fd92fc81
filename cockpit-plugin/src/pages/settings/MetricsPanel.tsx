// SPDX-License-Identifier: Apache-2.0
import { useState, type JSX } from "react";
import { Button } from "@patternfly/react-core/dist/esm/components/Button/index.js";
import type { MetricsEndpoint } from "../../types/millrace";
import { AdminButton } from "../../components/AdminButton";
import { CopyBlock } from "../../components/CopyBlock";
import { Panel } from "../../components/Panel";
import { Loaded } from "../../components/States";
import { useVerb } from "../../lib/hooks";
import { _, format, ngettext } from "../../lib/i18n";
import { Done, type Outcome } from "../../components/Done";
import { OffDialog, readersOf, readersName, ReadersDialog, TokenDialog } from "./metrics-dialogs";

/** Seconds between two looks at what another administrator may have changed. */
const EVERY_SECONDS = 30;
/** Addresses that are listed at once; more are behind their number. */
const LISTED = 5;

/** The endpoint that a monitoring system reads, and who may read it. */
export function MetricsPanel(): JSX.Element {
    const found = useVerb("metrics status", [], { admin: "allowed", every: EVERY_SECONDS });
    const [open, setOpen] = useState<"on" | "readers" | "token" | "off">();
    const [did, setDid] = useState<Outcome>();
    // Kept here alone: the server has no more than its hash.
    const [token, setToken] = useState<string | null>(null);
    const close = () => setOpen(undefined);
    const changed = (title: string) => (now: MetricsEndpoint) => {
        close();
        setToken(now.new_token ?? null);
        setDid({ title, lines: [], warnings: [] });
        found.reload();
    };
    return (
        <>
            <Done did={did} onClose={() => setDid(undefined)} />
            <Panel title={_("Metrics")} testId="metrics">
                <Loaded of={found} what={_("Loading metrics endpoint")}>
                    {(now) => (
                        <div className="mr-stack">
                            {now.enabled ? <Served endpoint={now} /> : <p>{_("Off. Monitoring systems cannot read metrics of this server.")}</p>}
                            {token !== null && (
                                <>
                                    <p>{_("Copy the token now and enter it in the monitoring system. It is not shown again.")}</p>
                                    <CopyBlock label={_("Token")} text={token} />
                                    <Button className="mr-start" variant="link" isInline onClick={() => setToken(null)}>{_("Hide the token")}</Button>
                                </>
                            )}
                            <div className="mr-actions">
                                {!now.enabled && <AdminButton variant="secondary" onClick={() => setOpen("on")}>{_("Switch on…")}</AdminButton>}
                                {now.enabled && <AdminButton variant="secondary" onClick={() => setOpen("readers")}>{_("Change readers…")}</AdminButton>}
                                {now.enabled && now.token && (
                                    <AdminButton variant="secondary" onClick={() => setOpen("token")}>{_("Replace the token…")}</AdminButton>
                                )}
                                {now.enabled && <AdminButton variant="link" isDanger onClick={() => setOpen("off")}>{_("Switch off…")}</AdminButton>}
                            </div>
                            {open === "on" && <ReadersDialog onDone={changed(_("Metrics are served."))} onClose={close} />}
                            {open === "readers" && <ReadersDialog before={now} onDone={changed(_("The readers have been changed."))} onClose={close} />}
                            {open === "token" && <TokenDialog endpoint={now} onDone={changed(_("The token has been replaced."))} onClose={close} />}
                            {open === "off" && <OffDialog onDone={changed(_("Metrics are switched off."))} onClose={close} />}
                        </div>
                    )}
                </Loaded>
            </Panel>
        </>
    );
}

function Served({ endpoint }: { endpoint: MetricsEndpoint }): JSX.Element {
    const { addresses, port } = endpoint;
    return (
        <dl className="mr-definitions">
            <dt>{_("State")}</dt><dd>{_("on")}</dd>
            {/* the name by which the browser found this server */}
            <dt>{_("Address")}</dt><dd><code>{`https://${window.location.hostname}:${port}/metrics`}</code></dd>
            <dt>{_("Readers")}</dt><dd>{readersName(readersOf(endpoint))}</dd>
            {addresses.length > 0 && (
                <>
                    <dt>{_("Allowed addresses")}</dt>
                    <dd>
                        {addresses.length <= LISTED ? addresses.join(", ") : (
                            <details className="mr-details">
                                <summary>{format(ngettext("$0 address or network", "$0 addresses and networks", addresses.length), addresses.length)}</summary>
                                {addresses.join(", ")}
                            </details>
                        )}
                    </dd>
                </>
            )}
        </dl>
    );
}
