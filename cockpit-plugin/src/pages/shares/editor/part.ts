// SPDX-License-Identifier: Apache-2.0
import type { Form, Problems } from "../form";

/** What each part of the editor is given. */
export interface PartProps {
    form: Form;
    set: (changed: Partial<Form>) => void;
    problems: Problems;
}
