// SPDX-License-Identifier: Apache-2.0
import type { JSX } from "react";
import type { HistoryReport } from "../../types/millrace";
import { Panel } from "../../components/Panel";
import { Sparkline } from "../../components/Sparkline";
import { percent } from "../../lib/format";
import { seriesOf } from "../../lib/history";
import { _, format } from "../../lib/i18n";

/** CPU and memory in the last hour, from the history; a value is a minute old at most. */
export function Load({ report }: { report: HistoryReport | undefined }): JSX.Element {
    return (
        <Panel title={_("CPU and memory")} testId="load">
            <div className="mr-stack">
                {[{ name: "cpu", title: _("CPU") }, { name: "memory", title: _("Memory") }].map(({ name, title }) => {
                    const series = seriesOf(report, name);
                    return (
                        <section key={name} aria-label={title}>
                            <dl className="mr-pairs"><div><dt>{title}</dt><dd>{percent(series?.last, 1)}</dd></div></dl>
                            {series !== undefined && (
                                <Sparkline slots={series.points.length} top={percent(1)} scale={1}
                                    label={format(_("$0 in the last hour: $1 now, $2 peak"), title, percent(series.last, 1), percent(series.peak, 1))}
                                    series={[{ name, points: series.points, tone: "neutral" }]} />
                            )}
                        </section>
                    );
                })}
            </div>
        </Panel>
    );
}
