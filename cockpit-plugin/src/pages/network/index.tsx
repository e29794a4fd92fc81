// SPDX-License-Identifier: Apache-2.0
/** Links with their addresses, name and time servers, routes; a change is rolled back unless it is confirmed here. */
import { useState, type JSX } from "react";
import type { LinkReport, NetworkChange } from "../../types/millrace";
import { AdminButton } from "../../components/AdminButton";
import { CheckFindings } from "../../components/CheckFindings";
import { Done, type Outcome } from "../../components/Done";
import { PageHeader } from "../../components/PageHeader";
import { Panel } from "../../components/Panel";
import { Loaded } from "../../components/States";
import { useVerb } from "../../lib/hooks";
import { _ } from "../../lib/i18n";
import { BondDialog, LinkDialog, RemoveDialog, VlanDialog } from "./link-dialogs";
import { LinkTable } from "./LinkTable";
import { PathPanel } from "./PathPanel";
import { HostNameDialog, RoutesDialog, ServersDialog } from "./server-dialogs";
import { ServersPanel } from "./ServersPanel";
import { TrialAlert } from "./TrialAlert";

const CHECKS = ["ports"];
/** Seconds between two questions: what waits is counted down, and a cable is plugged in now and then. */
const EVERY = 10;
const EVERY_WAITING = 2;

type Opened = { dialog: "vlan" | "bond" | "hostname" | "servers" | "routes" } | { dialog: "set" | "remove"; link: LinkReport };

export default function Network(): JSX.Element {
    const [waiting, setWaiting] = useState(false);
    const found = useVerb("network show", [], { admin: "allowed", every: waiting ? EVERY_WAITING : EVERY });
    const [opened, setOpened] = useState<Opened>();
    const [did, setDid] = useState<Outcome>();
    const trial = found.data?.trial ?? null;
    const open = trial !== null && (trial.state === "waiting" || trial.state === "applying");
    if (open !== waiting && found.data !== undefined) setWaiting(open);
    const close = () => setOpened(undefined);
    const changed = (change: NetworkChange) => {
        close();
        // What waits has an alert of its own.
        setDid(change.seconds > 0 ? undefined : { title: _("The change is in force."), lines: change.verified, warnings: change.warnings });
        found.reload();
    };
    const ends = { onDone: changed, onClose: close };
    return (
        <>
            <PageHeader title={_("Network")} actions={
                <>
                    <AdminButton variant="secondary" isDisabled={open} onClick={() => setOpened({ dialog: "bond" })}>{_("Add bond…")}</AdminButton>
                    <AdminButton variant="primary" isDisabled={open} onClick={() => setOpened({ dialog: "vlan" })}>{_("Add VLAN…")}</AdminButton>
                </>
            }>
                {_("Ports, bonds and VLANs with their addresses, DNS, NTP and routes. Changes are rolled back unless you confirm them within a minute.")}
            </PageHeader>
            {trial !== null && <TrialAlert key={`${trial.what}-${trial.state}`} trial={trial} onEnded={changed} />}
            <Done did={did} onClose={() => setDid(undefined)} />
            <CheckFindings checks={CHECKS} />
            <Panel title={_("Links")} testId="links" wide>
                <Loaded of={found} what={_("Loading the network")}>
                    {(report) => (
                        <LinkTable links={report.links} locked={open} onSet={(link) => setOpened({ dialog: "set", link })}
                            onRemove={(link) => setOpened({ dialog: "remove", link })} />
                    )}
                </Loaded>
            </Panel>
            {found.data !== undefined && (
                <ServersPanel report={found.data} locked={open} onOpen={(dialog) => setOpened({ dialog })} />
            )}
            <PathPanel />
            {opened?.dialog === "set" && <LinkDialog link={opened.link} {...ends} />}
            {opened?.dialog === "remove" && <RemoveDialog link={opened.link} {...ends} />}
            {found.data !== undefined && opened?.dialog === "vlan" && <VlanDialog links={found.data.links} {...ends} />}
            {found.data !== undefined && opened?.dialog === "bond" && <BondDialog links={found.data.links} {...ends} />}
            {found.data !== undefined && opened?.dialog === "hostname" && <HostNameDialog report={found.data} {...ends} />}
            {found.data !== undefined && opened?.dialog === "servers" && <ServersDialog report={found.data} {...ends} />}
            {found.data !== undefined && opened?.dialog === "routes" && <RoutesDialog report={found.data} {...ends} />}
        </>
    );
}
