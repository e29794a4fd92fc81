# SPDX-License-Identifier: Apache-2.0
"""Replace in a capture what identifies its owner: names, addresses, serial numbers, identifiers.

A pseudonym has the shape and length of what it replaces. It is the same in every capture of one server and cannot be
reversed without that server's key, so that two captures can be compared and no serial number can be guessed.
"""

import hashlib
import re
import string
from collections.abc import Callable
from ipaddress import AddressValueError, IPv4Address, IPv6Address

MAC = re.compile(r"\b(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}\b")
# A port that systemd names after its MAC address.
NAMED_BY_MAC = re.compile(r"\benx[0-9a-f]{12}")
UUID = re.compile(r"\b[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}\b")
MD_UUID = re.compile(r"\b[0-9a-f]{8}(?::[0-9a-f]{8}){3}\b")
IPV4 = re.compile(r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?![\w.])")
IPV6 = re.compile(r"(?<![\w:.])[0-9A-Fa-f:]*:[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*(?![\w:])")
IDENTIFIER = re.compile(r"(eui\.|uuid\.|)([0-9A-Fa-f][0-9A-Fa-f -]*)")
CLASSES = (string.digits, string.ascii_lowercase, string.ascii_uppercase)
HEX = "0123456789abcdef"
# A shorter word would be found inside of others.
SHORTEST_IN_TEXT = 5
OWN_NAMES = {"localhost", "millrace"}


class Anonymiser:
    """Pseudonyms of one server: `key` is a secret of it, `hostname` its name.

    `keep_serials` keeps what identifies drives.
    """

    def __init__(self, key: bytes, hostname: str = "", keep_serials: bool = False) -> None:
        self._key = key
        self._keep = keep_serials
        self._hostname = hostname
        self._given: dict[str, str] = {}
        self._taken: set[str] = set()
        self._known: dict[str, str] = {}

    def serial(self, text: str) -> str:
        """Replace a serial number, padded with blanks or not; it is remembered, and replaced in later texts."""
        return self._identity(text, self._shaped)

    def identifier(self, text: str) -> str:
        """Replace an EUI-64, NGUID, UUID or WWID: equal digits stay equal, however they are separated."""
        return self._identity(text, self._hexadecimal if IDENTIFIER.fullmatch(text.strip()) else self._shaped)

    def label(self, text: str) -> str:
        """Replace a name that a user gave, such as that of a partition."""
        return text if text.lower().startswith(("millrace", "esp", "efi ")) else self._shaped(text)

    def name(self, text: str) -> str:
        """Replace the MAC addresses in a path, a link or an attribute of sysfs: nothing else there is personal."""
        text = NAMED_BY_MAC.sub(lambda match: "enx" + self._hexadecimal(match[0][3:]), text)
        return MAC.sub(lambda match: self._hexadecimal(match[0]), text)

    def text(self, text: str) -> str:
        """Replace in the output of a tool all that is known to identify the owner."""
        text = self.name(text)
        for known in sorted(self._known, key=len, reverse=True):
            text = text.replace(known, self._known[known])
        for pattern in (UUID, MD_UUID):
            text = pattern.sub(lambda match: self._hexadecimal(match[0]), text)
        text = IPV4.sub(lambda match: self._address(match[0], IPv4Address, "192.0.2.1"), text)
        text = IPV6.sub(lambda match: self._address(match[0], IPv6Address, "2001:db8::1"), text)
        if len(self._hostname) >= SHORTEST_IN_TEXT and self._hostname.lower() not in OWN_NAMES:
            text = re.sub(rf"(?<!\w){re.escape(self._hostname)}(?!\w)", "hostname", text, flags=re.IGNORECASE)
        return text

    def _identity(self, text: str, replace: Callable[[str], str]) -> str:
        word = text.strip("\0 \t\n")
        if self._keep or not word:
            return text
        pseudonym = replace(word)
        if len(word) >= SHORTEST_IN_TEXT:
            self._known[word] = pseudonym
        return text.replace(word, pseudonym)

    def _address(self, word: str, kind: type[IPv4Address] | type[IPv6Address], instead: str) -> str:
        try:
            kind(word)
        except AddressValueError:
            return word
        return instead

    def _hexadecimal(self, text: str) -> str:
        """Replace the hexadecimal digits behind a prefix such as `eui.`; separators and case stay."""
        prefix, digits = text[: text.find(".") + 1], text[text.find(".") + 1 :]
        replaced = iter(self._pseudonym("".join(filter(str.isalnum, digits)).lower(), lambda letter: HEX))
        upper = digits != digits.lower()
        shown = "".join(next(replaced) if letter.isalnum() else letter for letter in digits)
        return prefix + (shown.upper() if upper else shown)

    def _shaped(self, text: str) -> str:
        return self._pseudonym(text, lambda letter: next((kind for kind in CLASSES if letter in kind), letter))

    def _pseudonym(self, text: str, alphabet: Callable[[str], str]) -> str:
        """Two that differ must not become one, or two drives would be taken for the same."""
        nonce = 0
        while text not in self._given:
            random = hashlib.shake_256(b"%b\0%d\0%b" % (self._key, nonce, text.encode())).digest(max(1, len(text)))
            made = "".join(
                alphabet(letter)[byte % len(alphabet(letter))] for letter, byte in zip(text, random, strict=False)
            )
            if made not in self._taken or nonce > len(self._taken):
                self._given[text] = made
                self._taken.add(made)
            nonce += 1
        return self._given[text]
