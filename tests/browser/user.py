# SPDX-License-Identifier: Apache-2.0
"""A user of the web console in a browser of their own: signs in, opens pages, reads them."""

import json
from pathlib import Path
from typing import Literal

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Frame, FrameLocator, Page, ViewportSize, expect

from tests.browser.console import Console
from tests.browser.noise import Noise

FRAME = 'iframe.container-frame[name="cockpit1:localhost/millrace"]'
VIEW = ViewportSize(width=1280, height=800)
TELEPHONE = ViewportSize(width=420, height=860)
# Milliseconds on a real server.
PATIENCE = 10_000
GRAVE = {"serious", "critical"}
# What is meant to scroll: long lines to copy, wide comparisons, the tabs on a telephone.
STICKS_OUT = """
[...document.querySelectorAll("html, body *")]
    .filter((one) => one.clientWidth > 0 && one.scrollWidth > one.clientWidth + 1)
    .filter((one) => !one.closest("pre, input, textarea, svg, .mr-scroll, .mr-tabs, .pf-v6-screen-reader"))
    .filter((one) => getComputedStyle(one).display !== "inline")
    .map((one) => `${one.tagName} ${one.className}: ${one.innerText.slice(0, 60)}`)
"""
# What turns while a user waits is painted sixty times a second, by a processor that the server needs.
STILL = """
const still = new CSSStyleSheet();
still.replaceSync("*, ::before, ::after { animation: none !important; transition: none !important; }");
document.adoptedStyleSheets.push(still);
"""

Theme = Literal["light", "dark"]


class User:
    """A browser of one user."""

    def __init__(self, browser: Browser, console: Console, user: str, password: str, language: str = "en-US") -> None:
        self.console, self.name, self.password = console, user, password
        self.context = browser.new_context(
            viewport=VIEW, ignore_https_errors=True, locale=language, color_scheme="light", reduced_motion="reduce"
        )
        self.context.grant_permissions(["clipboard-read", "clipboard-write"])
        self.context.set_default_timeout(PATIENCE * console.slowness)
        self.context.add_init_script(STILL)
        self.noise = Noise(self.context)
        self.page: Page = self.context.new_page()
        # That the page of an earlier story did not come.
        self.lost = False
        # The command lines of what our pages started.
        self.started: list[list[str]] = []
        self.page.on("websocket", lambda socket: socket.on("framesent", self._sent))

    def _sent(self, frame: str | bytes) -> None:
        """Notice a channel that starts a program: a control message, which begins with an empty line."""
        if isinstance(frame, str) and frame.startswith("\n"):
            message = json.loads(frame)
            if message.get("command") == "open" and message.get("spawn"):
                self.started.append(message["spawn"])

    @property
    def ours(self) -> FrameLocator:
        """Where our page is drawn."""
        return self.page.frame_locator(FRAME)

    @property
    def frame(self) -> Frame:
        """Our document."""
        found = self.page.frame(name="cockpit1:localhost/millrace")
        assert found is not None
        return found

    def submit_login(self, rights: bool = True) -> None:
        """Fill in the sign-in form and submit it."""
        self.page.goto(f"{self.console.url}/millrace")
        self.page.locator("#login").wait_for()
        how = "any" if rights else "none"
        self.page.evaluate("([user, how]) => localStorage.setItem(`superuser:${user}`, how)", [self.name, how])
        self.page.fill("#login-user-input", self.name)
        self.page.fill("#login-password-input", self.password)
        self.page.click("#login-button")

    def answer(self, prompt: str, text: str) -> None:
        """Answer what the login page asks."""
        expect(self.page.locator("#conversation-prompt")).to_contain_text(prompt)
        self.page.fill("#conversation-input", text)
        self.page.click("#login-button")

    def wait_for_page(self) -> None:
        """Wait until the first page is loaded."""
        self.lost = True
        self.page.locator(f"{FRAME}[data-loaded]").wait_for()
        self.lost = False
        expect(self.ours.get_by_role("heading", level=1)).to_be_visible()

    def sign_in(self, rights: bool = True) -> None:
        """Sign in and wait for the first page."""
        self.submit_login(rights)
        self.wait_for_page()

    def gain_administrative_access(self) -> None:
        """Switch to administrative access with one's own password."""
        self.page.get_by_role("button", name="Limited access").click()
        dialog = self.page.get_by_role("dialog")
        dialog.locator("input[type=password]").fill(self.password)
        dialog.get_by_role("button", name="Authenticate").click()
        self.page.get_by_role("button", name="Administrative access").wait_for()

    def go(self, title: str) -> None:
        """Open one of the pages by its tab and wait until it shows what it was asked for."""
        self.ours.get_by_label("Millrace pages").get_by_role("link", name=title, exact=True).click()
        expect(self.ours.get_by_role("heading", level=1)).to_have_text(title)
        expect(self.ours.locator(".mr-loading")).to_have_count(0)

    def choose_theme(self, theme: Theme) -> None:
        """Choose in Cockpit's session menu."""
        self.page.locator("#toggle-menu").click()
        choice = self.page.locator(f"#{theme}")
        choice.click()
        # the menu fades away, and what is clicked meanwhile is lost
        expect(choice).to_have_count(0)

    def accessibility_problems(self) -> list[str]:
        """Violations of accessibility rules that are serious or critical, as axe reports them."""
        found = Axe().run(self.frame).response["violations"]
        return [
            f"{one['impact']}: {one['help']}: {node['target']}"
            for one in found
            if one["impact"] in GRAVE
            for node in one["nodes"]
        ]

    def overflowing(self) -> list[str]:
        """What sticks out of its card, or the page out of its window, on a desk and on a telephone."""
        found = []
        for size in (TELEPHONE, VIEW):
            self.page.set_viewport_size(size)
            found += [f"{size['width']}: {one}" for one in self.frame.evaluate(STICKS_OUT)]
        return found

    def picture(self, path: Path) -> None:
        """The whole page as it is seen, with Cockpit around it."""
        path.parent.mkdir(exist_ok=True)
        main = self.frame.evaluate("document.querySelector('.pf-v6-c-page__main').scrollHeight")
        top = self.page.locator(FRAME).bounding_box()
        assert top is not None
        whole = max(VIEW["height"], int(top["y"]) + main)
        self.page.set_viewport_size(ViewportSize(width=VIEW["width"], height=whole))
        self.page.screenshot(path=path, animations="disabled")
        self.page.set_viewport_size(VIEW)
