// SPDX-License-Identifier: Apache-2.0
import { useState, type JSX } from "react";
import type { ListedRoute, TestReport } from "../../types/millrace";
import { AdminButton } from "../../components/AdminButton";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { DataTable, type Column } from "../../components/DataTable";
import { HealthLabel, LevelIcon, type Level } from "../../components/Health";
import { Panel } from "../../components/Panel";
import { ErrorAlert, Loaded } from "../../components/States";
import { day, moment } from "../../lib/format";
import { useChange, useVerb } from "../../lib/hooks";
import { _, format, ngettext } from "../../lib/i18n";
import { Done, type Outcome } from "../../components/Done";
import { RouteDialog } from "./RouteDialog";

/** Seconds: a mail server may take its time, and the program gives up before this. */
const TEST_SECONDS = 120;
/** Seconds between two looks at the last deliveries. */
const EVERY_SECONDS = 30;

export function kindName(kind: ListedRoute["kind"]): string {
    switch (kind) {
    case "mail": return _("Mail");
    case "webhook": return _("Webhook");
    case "syslog": return _("Syslog");
    }
}

function levelOf(route: ListedRoute): Level {
    return route.problem !== null ? "FAIL" : route.delivered === null ? "UNKNOWN" : "OK";
}

function words(route: ListedRoute): string {
    if (route.problem !== null) return route.problem;
    return route.delivered === null ? _("Nothing delivered yet") : format(_("Delivered $0"), moment(route.delivered));
}

function outcome(report: TestReport): Outcome {
    const failed = report.results.filter((one) => one.problem !== null);
    return {
        title: failed.length === 0 ? _("The test message has been delivered.") : _("The test message did not arrive."),
        lines: [],
        warnings: failed.map((one) => `${one.route}: ${one.problem ?? ""}`),
    };
}

/** Where problems of this server are reported, with a test of each way. */
export function AlertsPanel(): JSX.Element {
    const found = useVerb("alert route list", [], { admin: "allowed", every: EVERY_SECONDS });
    const test = useChange("alert test", { timeout: TEST_SECONDS });
    const [open, setOpen] = useState<"add" | ListedRoute>();
    const [did, setDid] = useState<Outcome>();
    const changed = (title: string) => () => {
        setOpen(undefined);
        setDid({ title, lines: [], warnings: [] });
        found.reload();
    };
    const send = async (name: string) => {
        const report = await test.go([name]);
        if (report !== undefined) setDid(outcome(report));
        found.reload();
    };
    const columns: Column<ListedRoute>[] = [
        { title: _("Name"), cell: (one) => one.name, heads: true },
        { title: _("Type"), cell: (one) => kindName(one.kind) },
        { title: _("Destination"), cell: (one) => <Destination route={one} /> },
        { title: _("Last delivery"), cell: (one) => <Delivered route={one} /> },
        {
            title: _("Actions"),
            cell: (one) => (
                <div className="mr-actions">
                    <AdminButton variant="secondary" size="sm" isDisabled={test.busy} aria-label={format(_("Send a test by $0"), one.name)}
                        onClick={() => void send(one.name)}>{_("Send a test")}</AdminButton>
                    <AdminButton variant="link" size="sm" isDanger aria-label={format(_("Remove route $0"), one.name)}
                        onClick={() => setOpen(one)}>{_("Remove…")}</AdminButton>
                </div>
            ),
        },
    ];
    return (
        <>
            <Done did={did} onClose={() => setDid(undefined)} />
            <Panel title={_("Alerts")} testId="alerts">
                <Loaded of={found} what={_("Loading alert routes")}>
                    {(list) => (
                        <div className="mr-stack">
                            <ErrorAlert error={test.error} />
                            {list.routes.length === 0
                                ? <p>{_("Problems of this server are not reported anywhere yet.")}</p>
                                : <DataTable label={_("Alert routes")} columns={columns} rows={list.routes} rowKey={(one) => one.name} />}
                            <div className="mr-actions">
                                <AdminButton variant="secondary" onClick={() => setOpen("add")}>{_("Add a route…")}</AdminButton>
                            </div>
                        </div>
                    )}
                </Loaded>
            </Panel>
            {open === "add" && <RouteDialog onDone={changed(_("The route has been added. Send a test."))} onClose={() => setOpen(undefined)} />}
            {open !== undefined && open !== "add" && (
                <RemoveDialog route={open} onDone={changed(_("The route has been removed."))} onClose={() => setOpen(undefined)} />
            )}
        </>
    );
}

/** How the program names a syslog route without a receiver. */
const JOURNAL = "the journal";

function Destination({ route }: { route: ListedRoute }): JSX.Element {
    return (
        <>
            {route.to === JOURNAL ? _("Journal of this server") : route.to}
            {!route.secure && <> <HealthLabel level="WARN">{_("unencrypted")}</HealthLabel></>}
            {route.authorities.map((one) => (
                <small key={one.subject} className="mr-subtle"> {format(_("own CA $0, valid until $1"), one.subject, day(one.not_after.slice(0, 10)))}</small>
            ))}
            {route.daily !== null && <small className="mr-subtle"> {format(_("sign of life at $0"), route.daily)}</small>}
        </>
    );
}

function Delivered({ route }: { route: ListedRoute }): JSX.Element {
    return (
        <>
            {/* no label: its text would not wrap on a telephone */}
            <span data-level={levelOf(route)}><LevelIcon level={levelOf(route)} /> {words(route)}</span>
            {route.waiting > 0 && (
                <small className="mr-subtle"> {format(ngettext("$0 message waiting", "$0 messages waiting", route.waiting), route.waiting)}</small>
            )}
        </>
    );
}

function RemoveDialog({ route, onDone, onClose }: { route: ListedRoute; onDone: () => void; onClose: () => void }): JSX.Element {
    const remove = useChange("alert route remove");
    const confirm = async () => {
        if (await remove.go([route.name]) !== undefined) onDone();
    };
    return (
        <ConfirmDialog danger title={format(_("Remove route $0?"), route.name)} action={_("Remove")} busy={remove.busy} error={remove.error}
            onConfirm={() => void confirm()} onClose={onClose}>
            <p>{_("Its password or URL and its undelivered messages are deleted.")}</p>
        </ConfirmDialog>
    );
}
