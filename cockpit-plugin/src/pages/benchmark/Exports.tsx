// SPDX-License-Identifier: Apache-2.0
import type { JSX } from "react";
import { DownloadButton } from "../../components/DownloadButton";
import { _ } from "../../lib/i18n";

/** The run as a file: everything that was measured, and where. */
export function Exports({ run }: { run: string }): JSX.Element {
    return (
        <div className="mr-actions">
            <DownloadButton variant="primary" words={["bench", "show", run, "--json"]} file={`millrace-${run}.json`} type="application/json">
                {_("Everything (JSON)")}
            </DownloadButton>
        </div>
    );
}
