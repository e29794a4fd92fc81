// SPDX-License-Identifier: Apache-2.0
import type { JSX } from "react";
import { Alert, AlertActionCloseButton } from "@patternfly/react-core/dist/esm/components/Alert/index.js";
import { _ } from "../lib/i18n";

/** What a change did, in the program's words, until it is closed. */
export interface Outcome {
    title: string;
    lines: string[];
    warnings: string[];
}

export function Done({ did, onClose }: { did: Outcome | undefined; onClose: () => void }): JSX.Element | null {
    if (did === undefined) return null;
    return (
        <Alert variant={did.warnings.length > 0 ? "warning" : "success"} isInline title={did.title} role="status" data-testid="done"
            actionClose={<AlertActionCloseButton onClose={onClose} aria-label={_("Close")} />}>
            {[...did.lines, ...did.warnings].map((line) => <p key={line}>{line}</p>)}
        </Alert>
    );
}
