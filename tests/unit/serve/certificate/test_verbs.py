# SPDX-License-Identifier: Apache-2.0
"""`millrace certificate …` in text and as JSON."""

import json

import pytest
from click.testing import CliRunner, Result

from millrace.serve.certificate import renew
from millrace.serve.certificate.verbs import certificate
from millrace.system import net
from millrace.system.errors import BadInput, Refused
from tests.unit.serve.certificate.server import Authority, Server


@pytest.fixture(autouse=True)
def kernel(bare: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ports of this server, not of the machine that tests."""
    for function in (renew.ensure, renew.renew):
        monkeypatch.setattr(function, "__defaults__", _ported(function.__defaults__, bare))
    from millrace.serve.certificate import install

    for function in (install.install, install.request):
        monkeypatch.setattr(function, "__defaults__", _ported(function.__defaults__, bare))


def _ported(defaults: tuple[object, ...] | None, server: Server) -> tuple[object, ...]:
    return tuple(server.ports if one is net.serving else one for one in defaults or ())


def say(*words: str, stdin: str = "") -> Result:
    return CliRunner().invoke(certificate, words, input=stdin, catch_exceptions=False)


def test_before_the_first_boot_is_done_it_says_what_makes_one() -> None:
    with pytest.raises(Refused, match=r"millrace-certificate\.service"):
        say("show")


def test_a_page_reads_it_and_a_client_gets_the_authority(server: Server) -> None:
    assert say("renew", "--if-needed").stdout.startswith("Nothing to do")
    found = json.loads(say("show", "--json").stdout)
    assert found["schema_version"] == 1 and found["certificate"]["names"][0] == "nas7"
    assert say("show", "--ca").stdout == found["client_trust"]
    assert "PRIVATE" not in say("show").stdout + json.dumps(found)


def test_an_upload_comes_on_standard_input(server: Server, site: Authority) -> None:
    leaf, key = site.server("subjectAltName=DNS:nas7")
    report = json.loads(say("install", "-", "--json", stdin=leaf + key).stdout)
    assert report["changed"] and report["certificate"]["names"] == ["nas7"]


def test_files_are_taken_together(server: Server, site: Authority) -> None:
    site.server("subjectAltName=DNS:nas7", name="nas7")
    said = say("install", str(site.directory / "nas7.pem"), str(site.directory / "nas7.key"))
    assert "The certificate was changed (installed): CN=nas7, for nas7" in said.stdout


def test_what_is_far_too_long_is_not_read() -> None:
    with pytest.raises(BadInput, match="1 MiB"):
        say("install", "-", stdin="x" * (2 << 20))


def test_a_request_is_printed_and_trust_is_listed(server: Server) -> None:
    assert say("request").stdout.startswith("-----BEGIN CERTIFICATE REQUEST-----")
    assert "Millrace authority nas7" in say("trust", "list").stdout
