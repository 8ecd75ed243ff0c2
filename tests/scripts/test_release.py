# SPDX-License-Identifier: Apache-2.0
"""What scripts/release makes of what is built: the same bytes each time, with signatures that others' programs accept."""
import hashlib
import json
import re
import subprocess
import tomllib
import unittest

import support
import fake_release
import release
from python_package import NotThere
from staged_files import project_version


def output_of(*command, **options):
    return subprocess.run(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, **options).stdout


def skip_without_tools():
    try:
        release.need(release.release_repositories.NEEDED)
    except NotThere as error:
        raise unittest.SkipTest(str(error)) from error


class Release(support.TestCase):
    @classmethod
    def setUpClass(cls):
        skip_without_tools()

    def setUp(self):
        super().setUp()
        self.key = fake_release.keys_in(self.folder / "key")
        self.out = fake_release.make(self.folder / "one", self.key, "https://example.org/tracer")

    def test_the_same_content_gives_the_same_bytes(self):
        other = fake_release.make(self.folder / "two", self.key, "https://example.org/tracer")
        self.assertEqual(output_of("diff", "-r", self.out, other), "")
        for path in (*self.out.rglob("*.xml"), *self.out.rglob("Release"), *self.out.rglob("*.json"), self.out / "get.sh"):
            self.assertNotIn(str(self.folder), path.read_text())

    def test_sums_name_every_file_but_themselves_and_signatures_of_both(self):
        sums = dict(reversed(line.split("  ")) for line in (self.out / "SHA256SUMS").read_text().splitlines())
        there = {path.relative_to(self.out).as_posix() for path in self.out.rglob("*") if path.is_file()}
        self.assertEqual(there - set(sums), {"SHA256SUMS", "SHA256SUMS.sig", "get.sh.sig"})
        for path, digest in sums.items():
            self.assertEqual(hashlib.sha256((self.out / path).read_bytes()).hexdigest(), digest)

    def test_signatures_are_those_of_the_key(self):
        for name in ("SHA256SUMS", "get.sh"):
            verify = ("openssl", "pkeyutl", "-verify", "-rawin", "-pubin", "-inkey", self.out / "release.pem",
                      "-sigfile", self.out / f"{name}.sig", "-in")
            self.assertIn("Success", output_of(*verify, self.out / name))
            self.assertNotIn("Success", output_of(*verify, self.out / "NEWS"))
        ring = self.folder / "ring.gpg"
        output_of("gpg", "--dearmor", "--output", ring, self.out / "openpgp.asc")
        for suite in ("bookworm", "trixie"):
            folder = self.out / "debian/dists" / suite
            self.assertIn("Good signature", output_of("gpgv", "--keyring", ring, folder / "InRelease"))
            self.assertIn("Good signature", output_of("gpgv", "--keyring", ring, folder / "Release.gpg", folder / "Release"))
        rpms = self.out / "rpm/el9"
        self.assertIn("Good signature", output_of("gpgv", "--keyring", ring, rpms / "repodata/repomd.xml.asc", rpms / "repodata/repomd.xml"))
        package, = rpms.glob("*.rpm")
        output_of("rpm", "--dbpath", self.folder / "rpmdb", "--import", self.out / "openpgp.asc")
        self.assertIn("digests signatures OK", output_of("rpm", "--dbpath", self.folder / "rpmdb", "-K", package))

    def test_each_suite_has_what_is_for_it(self):
        listed = {suite: re.findall(r"(?m)^Package: (.*)", (self.out / f"debian/dists/{suite}/main/binary-amd64/Packages").read_text())
                  for suite in ("bookworm", "trixie")}
        self.assertEqual(listed, {"bookworm": ["tracer-python", "tracerd"], "trixie": ["tracerd"]})

    def test_the_rpm_has_what_the_tarball_has(self):
        package, = (self.out / "rpm/el9").glob("*.rpm")
        listed = set(output_of("rpm", "-qpl", "--dbpath", self.folder / "rpmdb", package).splitlines())
        for path in ("/usr/bin/tracerd", "/usr/lib/systemd/system/tracerd.service", "/etc/tracer/tracerd.toml"):
            self.assertIn(path, listed)
        needed = output_of("rpm", "-qp", "--nosignature", "--requires", "--dbpath", self.folder / "rpmdb", package).splitlines()
        self.assertEqual([each for each in needed if not each.startswith(("/bin/sh", "rpmlib(", "config("))], [])

    def test_news_is_the_part_of_this_version_in_plain_text(self):
        self.assertEqual((self.out / "NEWS").read_text(), f"libtracer {fake_release.VERSION}\n\n- New: x.\n")
        self.assertEqual(release.news("1.0", "## 1.0\n\n- `Old`.\n"), "libtracer 1.0\n\n- Old.\n")
        with self.assertRaisesRegex(NotThere, "no part 1.0"):
            release.news("1.0", "## 1.0.1\n")

    def test_the_bill_of_materials_names_what_is_linked_and_every_file(self):
        bill, = self.out.glob("*.cdx.json")
        content = json.loads(bill.read_text())
        names = {each["name"] for each in content["components"]}
        for name in ("libbpf-dev", "libsqlite3-dev", "libc6-dev", "duckdb", "preact", "get.sh", "NEWS"):
            self.assertIn(name, names)
        references = [each["bom-ref"] for each in content["components"] if "bom-ref" in each]
        self.assertEqual(len(references), len(set(references)))

    def test_get_is_short_and_has_no_mistakes(self):
        text = (self.out / "get.sh").read_text()
        self.assertLessEqual(len(text.splitlines()), 200)
        self.assertEqual(re.findall(r"@[A-Z_]+@", text), [])
        self.assertEqual(output_of("shellcheck", self.out / "get.sh"), "")

    def test_wrong_keys_and_folders_are_refused(self):
        with self.assertRaisesRegex(NotThere, "is not empty"):
            fake_release.keys_in(self.key)
        (self.key / "openpgp.asc").unlink()
        with self.assertRaisesRegex(NotThere, "has no openpgp.asc"):
            release.Keys(self.key, 0)
        self.assertEqual(self.key.stat().st_mode & 0o777, 0o700)


class Versions(unittest.TestCase):
    def test_all_parts_have_the_version_of_the_sources(self):
        for path, pattern in release.VERSIONS.items():
            self.assertEqual(re.search(pattern, (support.ROOT / path).read_text(), re.M)[1], project_version(), path)

    def test_tracer_python_has_what_its_commands_need(self):
        extras = tomllib.loads((support.ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
        listed = re.findall(r"(?m)^(\S+)==", (support.ROOT / "packaging/python-versions.txt").read_text())
        for need in (*extras["ui"], *extras["cost"]):
            self.assertIn(re.match(r"[\w-]+", need)[0], listed)


if __name__ == "__main__":
    unittest.main()
