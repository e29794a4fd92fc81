// SPDX-License-Identifier: Apache-2.0
import type { JSX } from "react";
import { useVerb } from "../../lib/hooks";
import { DriveAttention } from "../storage/DriveAttention";

/** Seconds, as on the page of drives. */
const EVERY = 15;

/** Drives that need attention. Where they cannot be listed, the checks of health below say what is wrong. */
export function Drives(): JSX.Element {
    const { data } = useVerb("drive list", [], { every: EVERY });
    return <DriveAttention rows={data?.drives ?? []} />;
}
