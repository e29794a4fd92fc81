# SPDX-License-Identifier: Apache-2.0
"""What a browser complains of while our pages are open: errors, refusals of the content security policy, lost files."""

from playwright.sync_api import BrowserContext, ConsoleMessage, Page, Request, Response

OURS = "/@localhost/millrace/"
MARK = "complaint of a page:"
# Cockpit loads pages of its own beside ours, which complain of services that an appliance has not; each frame says
# itself what happened in it, as an error that nobody caught comes without the name of its frame.
TELL = f"""
const tell = (what, detail) => console.error("{MARK}", location.pathname, what, String(detail));
addEventListener("error", (e) => tell("error", e.message ?? e.target));
addEventListener("unhandledrejection", (e) => tell("rejection", JSON.stringify(e.reason) + e.reason?.stack));
addEventListener("securitypolicyviolation", (e) => tell("policy", e.violatedDirective + " " + e.blockedURI));
"""


class Noise:
    """Collects what is complained of by our pages in a browser context."""

    def __init__(self, context: BrowserContext) -> None:
        self.heard: list[str] = []
        context.add_init_script(TELL)
        context.on("page", self._listen)

    def _listen(self, page: Page) -> None:
        page.on("console", self._said)
        page.on("response", self._answered)
        page.on("requestfailed", self._failed)

    def _said(self, message: ConsoleMessage) -> None:
        where = f"{message.text if MARK in message.text else ''} {message.location.get('url', '')}"
        if message.type == "error" and OURS in where:
            self.heard.append(f"{message.text} ({message.location.get('url', '')})")

    def _answered(self, response: Response) -> None:
        if response.status >= 400 and OURS in response.url:
            self.heard.append(f"{response.status} {response.url}")

    def _failed(self, request: Request) -> None:
        # a frame that is left ends what it still loads
        if OURS in request.url and "ERR_ABORTED" not in (request.failure or ""):
            self.heard.append(f"{request.failure} {request.url}")
