// SPDX-License-Identifier: Apache-2.0
/** What a page shows while it has nothing to show: loading, empty, error, no rights. */
import { useEffect, useState, type ComponentType, type JSX, type ReactNode } from "react";
import { Alert, AlertActionLink } from "@patternfly/react-core/dist/esm/components/Alert/index.js";
import { Button } from "@patternfly/react-core/dist/esm/components/Button/index.js";
import { EmptyState, EmptyStateActions, EmptyStateBody, EmptyStateFooter } from "@patternfly/react-core/dist/esm/components/EmptyState/index.js";
import { ExpandableSection } from "@patternfly/react-core/dist/esm/components/ExpandableSection/index.js";
import { Spinner } from "@patternfly/react-core/dist/esm/components/Spinner/index.js";
import ExclamationCircleIcon from "@patternfly/react-icons/dist/esm/icons/exclamation-circle-icon";
import LockIcon from "@patternfly/react-icons/dist/esm/icons/lock-icon";
import { clock } from "../lib/format";
import type { Result } from "../lib/hooks";
import { _, format } from "../lib/i18n";
import type { CliError } from "../lib/millrace";
import { useAdmin, useLowerRole } from "../lib/permission";

/** Milliseconds that an answer may take before a spinner is worth the flicker. */
const PATIENCE = 300;

export function Loading({ what }: { what: string }): JSX.Element {
    const [shown, setShown] = useState(false);
    useEffect(() => {
        const timer = setTimeout(() => setShown(true), PATIENCE);
        return () => clearTimeout(timer);
    }, []);
    return (
        <div className="mr-loading" role="status" aria-live="polite" data-testid="loading">
            {shown && <><Spinner size="lg" aria-label={what} /> <span>{what}</span></>}
        </div>
    );
}

export function Empty({ title, icon, children, actions }: {
    title: string; icon?: ComponentType; children?: ReactNode; actions?: ReactNode;
}): JSX.Element {
    return (
        <EmptyState headingLevel="h2" titleText={title} data-testid="empty" {...(icon && { icon })}>
            <EmptyStateBody>{children}</EmptyStateBody>
            {actions && <EmptyStateFooter><EmptyStateActions>{actions}</EmptyStateActions></EmptyStateFooter>}
        </EmptyState>
    );
}

/** The reason why something is missing for a session with limited access, instead of an empty table. */
export function NoAdmin({ what }: { what: string }): JSX.Element {
    return (
        <EmptyState headingLevel="h2" titleText={_("Limited access")} icon={LockIcon} data-testid="no-admin">
            <EmptyStateBody>
                <p>{what}</p>
                <p>{_("Switch from limited to administrative access at the top of the page. Requires sudo rights.")}</p>
            </EmptyStateBody>
        </EmptyState>
    );
}

/** What the program printed, for a person who asks the support. */
function Output({ error }: { error: CliError }): JSX.Element | null {
    if (!error.output) return null;
    return (
        <ExpandableSection toggleText={_("Output")}>
            <pre className="mr-output">{error.output}</pre>
        </ExpandableSection>
    );
}

export function ErrorState({ error, retry }: { error: CliError; retry?: () => void }): JSX.Element {
    if (error.kind === "no-admin") return <NoAdmin what={error.message} />;
    return (
        <EmptyState headingLevel="h2" titleText={error.message} icon={ExclamationCircleIcon} status="danger" role="alert" data-testid="error">
            <EmptyStateBody>
                {error.hint && <p>{error.hint}</p>}
                <p>{format(_("Command: $0"), `${error.verb} --json`)}</p>
                <Output error={error} />
            </EmptyStateBody>
            {retry && (
                <EmptyStateFooter>
                    <Button variant="primary" onClick={retry}>{_("Try again")}</Button>
                </EmptyStateFooter>
            )}
        </EmptyState>
    );
}

/** The program's sentence after a change that did not happen, inside a dialog or above a form. */
export function ErrorAlert({ error, retry }: { error: CliError | undefined; retry?: () => void }): JSX.Element | null {
    if (error === undefined) return null;
    return (
        <Alert variant="danger" isInline title={error.message} role="alert" data-testid="error"
            {...(retry && { actionLinks: <AlertActionLink onClick={retry}>{_("Try again")}</AlertActionLink> })}>
            {error.hint && <p>{error.hint}</p>}
            <Output error={error} />
        </Alert>
    );
}

/** `children` with the document, or the state it is in; old data stay, with a word about their age. */
export function Loaded<T>({ of, what, children }: {
    of: Result<T>; what: string; children: (data: T) => ReactNode;
}): JSX.Element {
    if (of.data === undefined)
        return of.error === undefined ? <Loading what={what} /> : <ErrorState error={of.error} retry={of.reload} />;
    return (
        <>
            {of.error !== undefined && <Stale at={of.at} error={of.error} retry={of.reload} />}
            {children(of.data)}
        </>
    );
}

function Stale({ at, error, retry }: { at: Date | undefined; error: CliError; retry: () => void }): JSX.Element {
    return (
        <Alert variant="warning" isInline role="alert" data-testid="stale"
            title={format(_("Last update: $0. The server has not responded since."), at ? clock(at) : _("unknown time"))}
            actionLinks={<AlertActionLink onClick={retry}>{_("Try again")}</AlertActionLink>}>
            {error.message}
        </Alert>
    );
}

/** One line below the tabs of every page while this session may look only. */
export function LimitedAccess(): JSX.Element | null {
    const lower = useLowerRole();
    const admin = useAdmin();
    if (admin !== false) return null;
    if (lower !== undefined)
        return (
            <Alert variant="info" isInline isPlain className="mr-limited" data-testid="limited-access"
                title={lower === "operator"
                    ? _("You are an operator: you can manage drives, checks and updates; everything else is read-only.")
                    : _("You are a viewer: the pages are read-only.")} />
        );
    return (
        <Alert variant="info" isInline isPlain className="mr-limited" data-testid="limited-access"
            title={_("Limited access: the pages are read-only and some details are hidden. Switch to administrative access at the top of the page.")} />
    );
}
