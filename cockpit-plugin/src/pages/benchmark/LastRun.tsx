// SPDX-License-Identifier: Apache-2.0
import type { JSX } from "react";
import { Alert } from "@patternfly/react-core/dist/esm/components/Alert/index.js";
import type { Rung } from "../../types/millrace";
import { _, format } from "../../lib/i18n";
import { link } from "../../lib/route";
import { stateWord } from "./words";

/** How the newest run of this boot ended; its results are at `path`, where it has any. */
export function LastRun({ last: { run, state, what }, path }: { last: { run: string; state: Rung["state"]; what: string }; path?: string[] }): JSX.Element {
    return (
        <Alert isInline variant={state === "done" ? "success" : "warning"} data-testid="last-run" title={format(_("Run $0: $1"), run, stateWord(state))}>
            <p>{what}</p>
            {path && <a href={link(...path)}>{_("Show the results")}</a>}
        </Alert>
    );
}
