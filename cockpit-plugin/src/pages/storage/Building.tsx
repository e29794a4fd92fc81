// SPDX-License-Identifier: Apache-2.0
import type { JSX } from "react";
import { Panel } from "../../components/Panel";
import { ProgressEta } from "../../components/ProgressEta";
import { _, format } from "../../lib/i18n";
import type { BuildingNow } from "./useBuilding";

export function Building({ now }: { now: BuildingNow }): JSX.Element {
    return (
        <Panel title={_("The pool is being built")} wide testId="building">
            <div className="mr-stack">
                <ProgressEta title={now.step ? format(_("Now: $0"), now.step) : now.progress === null ? _("Starting") : _("Finishing")} progress={now.progress} secondsLeft={undefined} />
                <p className="mr-subtle">{_("The build continues when this page is closed. After a power cut it resumes at the next boot.")}</p>
            </div>
        </Panel>
    );
}
