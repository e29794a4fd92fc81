// SPDX-License-Identifier: Apache-2.0
import type { JSX } from "react";
import { Label, type LabelProps } from "@patternfly/react-core/dist/esm/components/Label/index.js";
import type { Light } from "../../types/millrace";
import { HealthLabel, type Level } from "../../components/Health";
import { stateWord } from "./words";

const LEVELS: Partial<Record<Light["state"], Level>> = { ok: "OK", late: "WARN", failed: "FAIL" };
const COLOURS: Partial<Record<Light["state"], NonNullable<LabelProps["color"]>>> = { running: "blue", none: "grey" };

/** A word and a sign. What is not set up is neither good nor bad. */
export function LightLabel({ light }: { light: Light }): JSX.Element {
    const level = LEVELS[light.state];
    if (level !== undefined) return <HealthLabel level={level}>{stateWord(light)}</HealthLabel>;
    return <Label color={COLOURS[light.state] ?? "grey"} variant="outline" isCompact>{stateWord(light)}</Label>;
}
