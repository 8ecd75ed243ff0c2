# SPDX-License-Identifier: Apache-2.0
"""The keys of releases: a folder with release.pem (Ed25519, for openssl: get.sh and SHA256SUMS) and openpgp.asc (for what apt
and dnf read). The same content gives the same signature."""
import contextlib
import os
import pathlib
import shutil
import subprocess
import tempfile

from python_package import NotThere, run_quietly
from staged_files import output_of, run

NAME = "libtracer releases"
# Signatures have the time of the commit, which must be later than that of their key.
KEY_DATE = "20200101T000000!"
NEEDED = {"gpg": "gnupg", "openssl": "openssl"}


def sign_quietly(*command, **options):
    """gpg warns of each time that it is told."""
    run_quietly("the release can't be signed", *command, **options)


def need(programs):
    for program, package in programs.items():
        if not shutil.which(program):
            raise NotThere(f"no {program}: apt-get install {package}")


def make_keys(folder):
    need(NEEDED)
    if folder.exists() and any(folder.iterdir()):
        raise NotThere(f"{folder} is not empty")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.chmod(0o700)
    with gnupg_home() as gpg:
        # RSA: rpm of RHEL 9 may not know Ed25519.
        sign_quietly(*gpg, f"--faked-system-time={KEY_DATE}", "--quick-generate-key", NAME, "rsa3072", "sign", "never")
        sign_quietly(*gpg, "--armor", "--output", folder / "openpgp.asc", "--export-secret-keys", NAME)
    run("openssl", "genpkey", "-algorithm", "ed25519", "-out", folder / "release.pem")
    (folder / "openpgp.asc").chmod(0o600)


@contextlib.contextmanager
def gnupg_home():
    """gpg's words with a folder of its own. Its agent ends with it."""
    with tempfile.TemporaryDirectory(prefix="tracer-gpg-") as home:
        try:
            yield ["gpg", "--homedir", home, "--batch", "--quiet", "--pinentry-mode", "loopback", "--passphrase", ""]
        finally:
            subprocess.run(["gpgconf", "--homedir", home, "--kill", "all"], check=False)


class Keys:
    """Those of a folder, in a `with`; `date` is that of signatures."""

    def __init__(self, folder, date):
        need(NEEDED)
        for name in ("release.pem", "openpgp.asc"):
            if not (folder / name).is_file():
                raise NotThere(f"{folder} has no {name}: scripts/release --make-key {folder}")
        self.pem, self.openpgp, self.date = folder / "release.pem", folder / "openpgp.asc", date
        self.stack = contextlib.ExitStack()

    def __enter__(self):
        self.gpg = self.stack.enter_context(gnupg_home())
        # Whatever calls gpg with this home, as rpmsign does.
        (self.home / "gpg.conf").write_text(f"faked-system-time {self.date}!\nno-emit-version\n", encoding="ascii")
        sign_quietly(*self.gpg, "--import", self.openpgp)
        return self

    def __exit__(self, *error):
        self.stack.close()

    @property
    def home(self):
        return pathlib.Path(self.gpg[self.gpg.index("--homedir") + 1])

    def public_openpgp(self):
        exported = self.home / "public.asc"
        sign_quietly(*self.gpg, "--yes", "--armor", "--output", exported, "--export-options", "export-minimal", "--export", NAME)
        return exported.read_text()

    def public_pem(self):
        return output_of("openssl", "pkey", "-in", self.pem.absolute(), "-pubout") + "\n"

    def sign(self, path):
        """PATH.sig, by the Ed25519 key."""
        run("openssl", "pkeyutl", "-sign", "-rawin", "-inkey", self.pem, "-in", path, "-out", f"{path}.sig")

    def sign_openpgp(self, path, signature, how="--detach-sign"):
        sign_quietly(*self.gpg, "--yes", "--armor", "--digest-algo", "SHA512", "--output", signature, how, path)

    def sign_rpm(self, path):
        macros = {"_gpg_name": NAME, "_gpg_path": self.home, "__gpg": shutil.which("gpg")}
        sign_quietly("rpmsign", *(f"--define={name} {value}" for name, value in macros.items()), "--addsign", path,
                     env=os.environ | {"GPG_TTY": ""})
