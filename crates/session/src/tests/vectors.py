#!/usr/bin/env python3
"""Works out vectors.txt a second time: the same protocol from its documentation, with other code and another library.

    python3 crates/session/src/tests/vectors.py          needs the package `cryptography`
"""

import base64
import hashlib
import hmac
import pathlib
import re
import sys

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF


def sha(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def mac(key, *parts):
    return hmac.digest(key, b"".join(parts), "sha256")


def public(secret):
    return X25519PrivateKey.from_private_bytes(secret).public_key().public_bytes_raw()


def dh(secret, peer):
    return X25519PrivateKey.from_private_bytes(secret).exchange(X25519PublicKey.from_public_bytes(peer))


class Noise:
    """The symmetric state of Noise revision 34, section 5.2."""

    def __init__(self, name, prologue):
        self.ck = self.h = name.ljust(32, b"\0") if len(name) <= 32 else sha(name)
        self.mix_hash(prologue)

    def mix_hash(self, data):
        self.h = sha(self.h, data)

    def hkdf(self, data):
        temp = mac(self.ck, data)
        first = mac(temp, b"\1")
        return first, mac(temp, first, b"\2")

    def mix_key(self, data):
        self.ck, self.k = self.hkdf(data)
        self.n = 0

    def encrypt(self, text):
        nonce = bytes(4) + self.n.to_bytes(8, "little")
        sealed = ChaCha20Poly1305(self.k).encrypt(nonce, text, self.h)
        self.n += 1
        self.mix_hash(sealed)
        return sealed


def read(path):
    """The values of vectors.txt by name; the token under its first word."""
    values, name = {}, None
    for line in path.read_text().splitlines()[1:]:
        if not line.startswith("  "):
            name = re.sub(r" \(\d+ bytes\)$", "", line)
            values[name] = ""
        else:
            values[name] += line.strip()
    return {n: v if n.startswith(("token", "the same")) else bytes.fromhex(v) for n, v in values.items()}


def handshake(v):
    """INIT, RESPONSE, and the keys of both directions."""
    client, gateway = v["client static secret"], v["gateway static secret"]
    eph_c, eph_g = v["client ephemeral secret"], v["gateway ephemeral secret"]
    header = b"\x10" + bytes.fromhex("c11e47")
    noise = Noise(b"Noise_IK_25519_ChaChaPoly_SHA256", b"ropewalk 1" + header)
    noise.mix_hash(public(gateway))
    init = header + public(eph_c)
    noise.mix_hash(public(eph_c))
    noise.mix_key(dh(eph_c, public(gateway)))
    init += noise.encrypt(public(client))
    noise.mix_key(dh(client, public(gateway)))
    init += noise.encrypt(v["client hello"])
    init += mac(sha(b"ropewalk 1 mac1", public(gateway)), init)[:16] + bytes(16)

    response = b"\x20" + bytes.fromhex("c11e47") + bytes.fromhex("6a7e3a") + public(eph_g)
    noise.mix_hash(public(eph_g))
    noise.mix_key(dh(eph_g, public(eph_c)))
    noise.mix_key(dh(eph_g, public(client)))
    response += noise.encrypt(v["gateway hello"])
    response += mac(sha(b"ropewalk 1 mac1", public(client)), response)[:16]

    info = b"ropewalk 1 data" + b"\2" + bytes.fromhex("c11e47") + bytes.fromhex("6a7e3a")
    keys = [HKDF(SHA256(), 28, noise.h, info).derive(k) for k in noise.hkdf(b"")]
    return init, response, keys


def cookie_macs(v):
    """mac1 and mac2 of the INIT that brings the cookie of COOKIE."""
    init, datagram = v["INIT that a gateway under load gets"], v["COOKIE"]
    nonce, sealed = datagram[4:28], datagram[28:]
    key = mac(sha(b"ropewalk 1 cookie", v["gateway static public"]), nonce)
    cookie = ChaCha20Poly1305(key).decrypt(bytes(12), sealed, init[-32:-16])
    return init[-32:-16] + mac(cookie, init[:-16])[:16]


def token(v, extensions=b""):
    content = v["gateway static public"] + b"\x11" * 16 + b"\x22" * 16 + b"\2"
    port = (4500).to_bytes(2, "big")
    content += b"\1\x0egw.example.org" + port + b"\6" + bytes.fromhex("20010db8") + bytes(11) + b"\1" + port
    content += extensions
    content += sha(b"ropewalk 1 token", content)[:4]
    return "rw1_" + base64.urlsafe_b64encode(content).decode().rstrip("=")


def main():
    v = read(pathlib.Path(__file__).with_name("vectors.txt"))
    init, response, (out, back) = handshake(v)
    nonce = bytes(a ^ b for a, b in zip(out[16:], (3).to_bytes(4, "big") + (0x100000001).to_bytes(8, "big")))
    aad = next(value for name, value in v.items() if name.startswith("sealing"))
    found = {
        "INIT without cookie": init,
        "RESPONSE": response,
        "client to gateway key": out[:16],
        "client to gateway iv": out[16:],
        "gateway to client key": back[:16],
        "gateway to client iv": back[16:],
        "the end of the INIT with that cookie: mac1, mac2": cookie_macs(v),
        "ciphertext and tag": AESGCM(out[:16]).encrypt(nonce, v["plaintext"], aad),
        next(name for name in v if name.startswith("token")): token(v),
        next(name for name in v if name.startswith("the same")): token(v, bytes.fromhex("01000704c000020101bb")),
    }
    wrong = [name for name, value in found.items() if v[name] != value]
    for name in wrong:
        print(f"differs: {name}", file=sys.stderr)
    print(f"{len(found) - len(wrong)} of {len(found)} values agree")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
