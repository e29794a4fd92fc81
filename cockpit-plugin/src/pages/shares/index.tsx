// SPDX-License-Identifier: Apache-2.0
import type { JSX } from "react";

export default function Shares(): JSX.Element | null {
    return null;
}
