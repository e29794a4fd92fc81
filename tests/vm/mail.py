# SPDX-License-Identifier: Apache-2.0
"""A mail server, which runs on the client: `mail.py ADDRESS PORT CERTIFICATE KEY DIRECTORY`.

Takes mail after STARTTLS and AUTH PLAIN only, in the order of RFC 5321, and appends each as a JSON line to
DIRECTORY/mails. What it does is in DIRECTORY/mode: `take`, or `hang`: it accepts connections and never says a word.
"""

import base64
import email
import email.policy
import json
import ssl
import sys
import time
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer

ADDRESS, PORT, CERTIFICATE, KEY, DIRECTORY = sys.argv[1:]
USER, PASSWORD = "nas", "s3cret-of-the-mail-server"
HANGS = 600.0


class Session(StreamRequestHandler):
    """One connection."""

    def handle(self) -> None:
        """Answer the commands of a client until it leaves."""
        if (Path(DIRECTORY) / "mode").read_text().strip() == "hang":
            time.sleep(HANGS)
            return
        self.encrypted, self.signed_in, self.sender, self.recipients = False, False, "", list[str]()
        self.say("220 mail.example.com ESMTP")
        while line := self.rfile.readline(1000).decode().strip():
            reply = self.reply(line)
            if reply is not None:
                self.say(reply)
            if line.upper() == "QUIT":
                return

    def say(self, line: str) -> None:
        self.wfile.write(f"{line}\r\n".encode())

    def reply(self, line: str) -> str | None:
        verb = line.replace(":", " ").split(maxsplit=1)[0].upper()
        if verb == "EHLO":
            return f"250-mail.example.com\r\n250 {'AUTH PLAIN' if self.encrypted else 'STARTTLS'}"
        if verb == "STARTTLS" and not self.encrypted:
            self.encrypt()
            return None
        if verb == "QUIT":
            return "221 bye"
        if not self.encrypted:
            return "530 Must issue a STARTTLS command first"
        if verb == "AUTH":
            given = base64.b64decode(line.rpartition(" ")[2]).split(b"\0")[1:]
            self.signed_in = given == [USER.encode(), PASSWORD.encode()]
            return "235 welcome" if self.signed_in else "535 authentication failed"
        if not self.signed_in:
            return "530 authentication required"
        if verb == "MAIL":
            self.sender = line.partition(":")[2].split()[0].strip("<>")
            return "250 ok"
        if verb == "RCPT" and self.sender:
            self.recipients.append(line.partition(":")[2].strip("<>"))
            return "250 ok"
        if verb == "DATA" and self.recipients:
            return self.take()
        return "503 bad sequence of commands"

    def encrypt(self) -> None:
        self.say("220 go ahead")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(CERTIFICATE, KEY)
        self.connection = context.wrap_socket(self.connection, server_side=True)
        self.rfile, self.wfile = self.connection.makefile("rb"), self.connection.makefile("wb", 0)
        self.encrypted = True

    def take(self) -> str:
        self.say("354 go on")
        text = b""
        while not text.endswith(b"\r\n.\r\n"):
            text += self.rfile.readline()
        mail = email.message_from_bytes(text[: -len(b".\r\n")], policy=email.policy.default)
        body = mail.get_body()
        taken = {
            "sender": self.sender,
            "recipients": self.recipients,
            "subject": mail["Subject"],
            "id": mail["Message-ID"],
            "text": body.get_content() if body else "",
        }
        with (Path(DIRECTORY) / "mails").open("a") as file:
            print(json.dumps(taken), file=file)
        return "250 taken"


class Server(ThreadingTCPServer):
    """A session that hangs holds up no other."""

    allow_reuse_address = True
    daemon_threads = True


if __name__ == "__main__":
    Server((ADDRESS, int(PORT)), Session).serve_forever()
