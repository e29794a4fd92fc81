// SPDX-License-Identifier: Apache-2.0
import { useId, type JSX, type ReactNode } from "react";
import { Card, CardBody, CardHeader, CardTitle } from "@patternfly/react-core/dist/esm/components/Card/index.js";

/** A titled part of a page; `wide` takes the whole row of the grid. */
export function Panel({ title, children, actions, wide = false, testId }: {
    title: string; children: ReactNode; actions?: ReactNode; wide?: boolean; testId?: string;
}): JSX.Element {
    const id = useId();
    return (
        <Card component="section" aria-labelledby={id} className={wide ? "mr-panel mr-wide" : "mr-panel"} data-testid={testId} isCompact>
            <CardHeader {...(actions && { actions: { actions, hasNoOffset: true } })}>
                <CardTitle component="h2" id={id}>{title}</CardTitle>
            </CardHeader>
            <CardBody>{children}</CardBody>
        </Card>
    );
}
