// SPDX-License-Identifier: Apache-2.0
import type { JSX } from "react";
import type { CurrentJob } from "../../types/millrace";
import { JobView } from "../../components/JobView";
import { Panel } from "../../components/Panel";
import { _ } from "../../lib/i18n";

/** What md does is by array; of a kind of job there is one, whose words change while it runs and its dialog is open. */
const keyOf = ({ name, what, title }: CurrentJob) => (name === title ? `${name} ${what}` : name);

export function Jobs({ jobs, onCancelled }: { jobs: CurrentJob[]; onCancelled: () => void }): JSX.Element {
    return (
        <Panel title={_("Jobs")} testId="jobs">
            {jobs.length === 0
                ? <p>{_("No running jobs: no rebuild, check or benchmark.")}</p>
                : <div className="mr-stack">{jobs.map((job) => <JobView key={keyOf(job)} job={job} onCancelled={onCancelled} />)}</div>}
        </Panel>
    );
}
