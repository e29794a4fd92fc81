# SPDX-License-Identifier: Apache-2.0
"""A message by SMTP, encrypted unless the route has no encryption."""

import smtplib
from collections.abc import Mapping
from contextlib import suppress
from email.message import EmailMessage
from email.utils import format_datetime

from millrace.observe.alert import authority, text
from millrace.observe.alert.model import AlertMessage, MailRoute, Security
from millrace.system import ages
from millrace.system.errors import Failed

# For each answer of the server.
SECONDS = 15.0


def send(route: MailRoute, password: str, message: AlertMessage, host: str) -> None:
    """Deliver a message. Failed: the server refuses it, with its reply. OSError: there is no reply."""
    try:
        server = _connected(route, host)
        try:
            if route.user:
                server.login(route.user, password)
            refused = server.send_message(mail(route, message, host), route.sender, route.recipients)
        finally:
            # What it has taken is on its way, whatever becomes of the connection.
            with suppress(smtplib.SMTPException, OSError):
                server.quit()
    except smtplib.SMTPException as error:
        raise Failed(f"{route.host}: {_reply(error)}") from error
    if refused and message.event == "test":
        # An alert has reached the others, and would reach them again with each further attempt.
        raise Failed(f"{route.host}: {_refusals(refused)}")


def mail(route: MailRoute, message: AlertMessage, host: str) -> EmailMessage:
    """Return the message as mail (RFC 5322); RFC 3834 prevents vacation replies."""
    email = EmailMessage()
    email["Subject"] = text.subject(message, host)
    email["From"] = route.sender
    email["To"] = ", ".join(route.recipients)
    email["Date"] = format_datetime(ages.when(message.at))
    email["Message-ID"] = f"<millrace.{text.identifier(message, host)}>"
    email["Auto-Submitted"] = "auto-generated"
    email.set_content(text.body(message, host))
    return email


def _connected(route: MailRoute, host: str) -> smtplib.SMTP:
    # Without a name smtplib asks the DNS for that of this server, which may take its time.
    if route.security is Security.TLS:
        context = authority.context(route.ca)
        return smtplib.SMTP_SSL(route.host, route.port, host, timeout=SECONDS, context=context)
    server = smtplib.SMTP(route.host, route.port, host, timeout=SECONDS)
    try:
        if route.security is Security.STARTTLS:
            server.starttls(context=authority.context(route.ca))
    except BaseException:
        server.close()
        raise
    return server


def _reply(error: smtplib.SMTPException) -> str:
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        return _refusals(error.recipients)
    if isinstance(error, smtplib.SMTPAuthenticationError):
        # Some servers repeat what was sent.
        return f"the server refuses user and password ({error.smtp_code})"
    if isinstance(error, smtplib.SMTPResponseException):
        return f"{error.smtp_code} {_words(error.smtp_error)}"
    if isinstance(error.__context__, TimeoutError):
        # smtplib calls that a connection which was closed
        return f"no reply within {SECONDS:g} s"
    return str(error) or type(error).__name__


def _refusals(refused: Mapping[str, tuple[int, bytes]]) -> str:
    return "; ".join(f"{who}: {code} {_words(reply)}" for who, (code, reply) in refused.items())


def _words(reply: bytes | str) -> str:
    return reply.decode(errors="replace") if isinstance(reply, bytes) else reply
