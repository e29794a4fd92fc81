// SPDX-License-Identifier: Apache-2.0
/** One labelled field of a form, with its sentence below: what is wrong, or what is meant. */
import type { JSX, ReactNode } from "react";
import { FormGroup } from "@patternfly/react-core/dist/esm/components/Form/index.js";
import { FormSelect, FormSelectOption } from "@patternfly/react-core/dist/esm/components/FormSelect/index.js";
import { FormHelperText } from "@patternfly/react-core/dist/esm/components/Form/index.js";
import { HelperText, HelperTextItem } from "@patternfly/react-core/dist/esm/components/HelperText/index.js";
import { TextInput } from "@patternfly/react-core/dist/esm/components/TextInput/index.js";
import "./parts.css";

interface Said {
    /** What is wrong with the value. */
    problem?: string | undefined;
    /** What is meant, where nothing is wrong. */
    help?: string | undefined;
}

export function Sentence({ id, problem, help }: Said & { id: string }): JSX.Element | null {
    const text = problem ?? help;
    if (!text) return null;
    return (
        <FormHelperText>
            <HelperText id={id} isLiveRegion={problem !== undefined}>
                <HelperTextItem variant={problem === undefined ? "default" : "error"}>{text}</HelperTextItem>
            </HelperText>
        </FormHelperText>
    );
}

export function Field({ id, label, required = false, problem, help, children }: Said & {
    id: string; label: string; required?: boolean; children: ReactNode;
}): JSX.Element {
    return (
        <FormGroup fieldId={id} label={label} isRequired={required}>
            {children}
            <Sentence id={`${id}-said`} problem={problem} help={help} />
        </FormGroup>
    );
}

export function TextField({ id, label, value, onChange, type = "text", placeholder, required = false, disabled = false, problem, help }: Said & {
    id: string; label: string; value: string; onChange: (text: string) => void; type?: "text" | "password"; placeholder?: string;
    required?: boolean; disabled?: boolean;
}): JSX.Element {
    return (
        <Field id={id} label={label} required={required} problem={problem} help={help}>
            <TextInput id={id} type={type} value={value} isRequired={required} isDisabled={disabled}
                validated={problem === undefined ? "default" : "error"} aria-describedby={`${id}-said`}
                autoComplete={type === "password" ? "new-password" : "off"} spellCheck={false} {...(placeholder && { placeholder })}
                onChange={(_event, text) => onChange(text)} />
        </Field>
    );
}

export function ChoiceField<T extends string>({ id, label, value, options, onChange, disabled = false, problem, help }: Said & {
    id: string; label: string; value: T; options: readonly { value: T; label: string }[]; onChange: (value: T) => void; disabled?: boolean;
}): JSX.Element {
    return (
        <Field id={id} label={label} problem={problem} help={help}>
            <FormSelect id={id} value={value} isDisabled={disabled} aria-describedby={`${id}-said`}
                onChange={(_event, chosen) => onChange(chosen as T)}>
                {options.map((one) => <FormSelectOption key={one.value} value={one.value} label={one.label} />)}
            </FormSelect>
        </Field>
    );
}
