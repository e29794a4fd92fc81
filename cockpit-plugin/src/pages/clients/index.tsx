// SPDX-License-Identifier: Apache-2.0
import type { JSX } from "react";

export default function Clients(): JSX.Element | null {
    return null;
}
