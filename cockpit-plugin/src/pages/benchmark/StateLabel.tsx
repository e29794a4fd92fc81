// SPDX-License-Identifier: Apache-2.0
import type { JSX } from "react";
import { Label } from "@patternfly/react-core/dist/esm/components/Label/index.js";
import InProgressIcon from "@patternfly/react-icons/dist/esm/icons/in-progress-icon";
import type { Rung } from "../../types/millrace";
import { HealthLabel } from "../../components/Health";
import { stateLevel, stateWord } from "./words";

/** How far a run or one load of it is; what goes on is neither well nor unwell. */
export function StateLabel({ state }: { state: Rung["state"] }): JSX.Element {
    if (state === "running") return <Label color="blue" variant="outline" isCompact icon={<InProgressIcon />}>{stateWord(state)}</Label>;
    return <HealthLabel level={stateLevel(state)}>{stateWord(state)}</HealthLabel>;
}
