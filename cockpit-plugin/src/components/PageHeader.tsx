// SPDX-License-Identifier: Apache-2.0
import { useEffect, type JSX, type ReactNode } from "react";
import { Title } from "@patternfly/react-core/dist/esm/components/Title/index.js";

/** The one h1 of a page, what it is about, and its main buttons. */
export function PageHeader({ title, children, actions }: { title: string; children?: ReactNode; actions?: ReactNode }): JSX.Element {
    useEffect(() => { document.title = `${title} – Millrace`; }, [title]);
    return (
        <header className="mr-header">
            <div>
                <Title headingLevel="h1" size="2xl">{title}</Title>
                {children && <p className="mr-subtle">{children}</p>}
            </div>
            {actions && <div className="mr-actions">{actions}</div>}
        </header>
    );
}
