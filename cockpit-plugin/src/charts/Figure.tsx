// SPDX-License-Identifier: Apache-2.0
import { useState, type JSX, type ReactNode } from "react";
import { Button } from "@patternfly/react-core/dist/esm/components/Button/index.js";
import { _, format } from "../lib/i18n";
import "./charts.css";

/** A chart with its name and, on demand, the same figures as a table. */
export function Figure({ title, caption, chart, table }: {
    title: string; caption?: ReactNode; chart: JSX.Element; table: JSX.Element;
}): JSX.Element {
    const [asTable, setAsTable] = useState(false);
    return (
        <figure className="mr-chart-figure">
            <div className="mr-chart-bar">
                <h3 className="mr-chart-title">{title}</h3>
                <Button variant="link" size="sm" isInline aria-pressed={asTable} aria-label={format(_("Show as a table: $0"), title)}
                    onClick={() => setAsTable(!asTable)}>
                    {asTable ? _("Show the chart") : _("Show as a table")}
                </Button>
            </div>
            {asTable ? table : chart}
            {caption && <figcaption className="mr-subtle mr-small">{caption}</figcaption>}
        </figure>
    );
}
