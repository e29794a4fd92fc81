# SPDX-License-Identifier: Apache-2.0
"""A webhook gets JSON once; whatever else its receiver does is one sentence without the secret."""

import json
from collections.abc import Iterator

import pytest

from millrace.observe.alert import webhook
from millrace.system.errors import BadInput, Failed
from tests.unit.observe.alert.receivers import Receiver, closed_port, serving, silent
from tests.unit.observe.alert.samples import URL, message


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    with serving(made):
        yield made


def test_message_arrives_as_json_at_the_whole_url(receiver: Receiver) -> None:
    webhook.send(receiver.url, message(), "nas7")
    [body] = receiver.bodies
    said = json.loads(body)
    assert (said["event"], said["alerts"][0]["key"]) == ("opened", "arrays/data")
    assert said["text"].startswith("[nas7] FAIL")
    assert receiver.paths == ["/hooks/s3cret?token=1"]


@pytest.mark.parametrize("status", [400, 404, 429, 500, 503])
def test_status_that_refuses_is_a_failure(receiver: Receiver, status: int) -> None:
    receiver.status = status
    with pytest.raises(Failed, match=rf"^127\.0\.0\.1 replied with status {status}$"):
        webhook.send(receiver.url, message(), "nas7")


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_redirect_is_not_followed(receiver: Receiver, status: int) -> None:
    receiver.status = status
    with pytest.raises(Failed, match=rf"redirects \(status {status}\): give the route the URL") as refused:
        webhook.send(receiver.url, message(), "nas7")
    assert receiver.paths == ["/hooks/s3cret?token=1"]
    assert "s3cret" not in str(refused.value)


def test_receiver_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook, "SECONDS", 0.2)
    with silent() as port, pytest.raises(TimeoutError):
        webhook.send(f"http://127.0.0.1:{port}/", message(), "nas7")


def test_receiver_that_is_not_there_is_an_error() -> None:
    with pytest.raises(ConnectionRefusedError):
        webhook.send(f"http://127.0.0.1:{closed_port()}/", message(), "nas7")


def test_shown_is_the_host_alone() -> None:
    assert webhook.host_of(URL) == "https://chat.example.com"
    assert webhook.host_of("http://[fd00::1]:8080/x?key=1") == "http://[fd00::1]:8080"


@pytest.mark.parametrize(
    "text",
    [
        *("", "chat.example.com", "ftp://chat.example.com/", "https://", "https://a:b@chat.example.com/"),
        *("https://a/ b", "https://a:99999/", "https://a:x/", "https://a/#part", "https://ä.example.com/"),
        *("https://[1/", "https://a/\n", "https://a/" + "x" * 2000),
    ],
)
def test_what_is_no_url_of_a_webhook_is_refused_without_repeating_it(text: str) -> None:
    with pytest.raises(BadInput, match=r"^a webhook is a URL such as https://chat\.example\.com/hooks/…$"):
        webhook.host_of(text)
