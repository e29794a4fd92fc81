// SPDX-License-Identifier: Apache-2.0
import type { JSX } from "react";
import type { Job } from "../../types/millrace";
import { Panel } from "../../components/Panel";
import { ProgressEta } from "../../components/ProgressEta";
import { rate } from "../../lib/format";
import { _, format } from "../../lib/i18n";
import { jobTitle } from "../../lib/jobs";

export function Jobs({ jobs }: { jobs: Job[] }): JSX.Element {
    return (
        <Panel title={_("Running jobs")} testId="jobs">
            {jobs.length === 0
                ? <p>{_("No running jobs: no rebuild, check or benchmark.")}</p>
                : jobs.map((job) => (
                    <ProgressEta key={`${job.name} ${job.what}`} title={format(_("job", "$0: $1"), jobTitle(job.name), job.what)} progress={job.progress}
                        secondsLeft={job.seconds_left} detail={job.bytes_per_second === null ? undefined : rate(job.bytes_per_second)} />
                ))}
        </Panel>
    );
}
