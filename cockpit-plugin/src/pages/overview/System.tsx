// SPDX-License-Identifier: Apache-2.0
import type { JSX } from "react";
import type { Status } from "../../types/millrace";
import { Panel } from "../../components/Panel";
import { duration, UNKNOWN } from "../../lib/format";
import { _ } from "../../lib/i18n";

export function System({ status }: { status: Status }): JSX.Element {
    return (
        <Panel title={_("This server")} testId="system">
            <dl className="mr-pairs">
                <div><dt>{_("Name")}</dt><dd>{status.hostname}</dd></div>
                <div><dt>{_("Version")}</dt><dd data-testid="version">{status.product} {status.version}</dd></div>
                <div><dt>{_("Running for")}</dt><dd data-testid="uptime">{duration(status.uptime)}</dd></div>
                <div>
                    <dt>{_("Addresses for clients")}</dt>
                    <dd>
                        {status.addresses.length === 0
                            ? UNKNOWN
                            : status.addresses.map((one) => <div key={one.address}>{one.address} <small className="mr-subtle">{one.interface}</small></div>)}
                    </dd>
                </div>
            </dl>
            {status.notes.map((text) => <p key={text}><small className="mr-subtle">{text}</small></p>)}
        </Panel>
    );
}
