# SPDX-License-Identifier: Apache-2.0
"""The command lines of tests/data/secrets are what its README.md says. What the rules make of them is not looked at."""
import collections
import hashlib
import itertools
import pathlib
import tomllib
import unittest

import support

FOLDER = support.ROOT / "tests/data/secrets"
HALVES = ("seen.toml", "held_out.toml")
FILES = (*HALVES, "more.toml", "fresh.toml")
KEYS = {"secret": {"family", "source", "argv", "secrets", "kept"}, "harmless": {"family", "source", "argv"}}
# Stands inside of what programs that search repositories take for a real secret.
MARK = "¦"
LEAST = {"fresh.toml": (100, 100), "more.toml": (852, 603)}  # Secret and harmless ones; (150, 150) in the halves.
# Tools with four lines or more when the halves were made: divided line by line.
COMMON = set("""
    Rscript aws az bash bcftools curl docker dx env gcloud git gpg gsutil java jupyter kubectl mongosh mysql nextflow
    npm omero openssl pip psql python qsub rclone redis-cli samtools sh singularity ssh-keygen sshpass terraform vault wget
""".split())


def half_of(argv):
    tool = argv[0].rsplit("/", 1)[-1]
    key = "\0".join(argv) if tool in COMMON else tool
    return HALVES[hashlib.sha256(f"33101 {key}".encode()).digest()[0] & 1]


def name_of(line):
    return f"{line['source']}: {' '.join(line['argv'])[:60]}"


class Corpus(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.files = {name: tomllib.loads((FOLDER / name).read_text(encoding="utf-8").replace(MARK, "")) for name in FILES}
        cls.lines = [(name, kind, line) for name, kinds in cls.files.items() for kind in KEYS for line in kinds[kind]]
        cls.secrets = [(name, line) for name, kind, line in cls.lines if kind == "secret"]

    def test_there_are_enough_and_each_is_whole(self):
        for name, kinds in self.files.items():
            self.assertEqual(kinds.keys(), KEYS.keys())
            for (kind, lines), least in zip(kinds.items(), LEAST.get(name, (150, 150))):
                self.assertGreaterEqual(len(lines), least, (name, kind))
        for _, kind, line in self.lines:
            with self.subTest(name_of(line)):
                self.assertEqual(line.keys(), KEYS[kind])
                self.assertTrue(all(line.values()))
                words = itertools.chain(line["argv"], line.get("secrets", []), line.get("kept", []))
                self.assertTrue(all(isinstance(word, str) for word in words))
                self.assertNotRegex("".join(line["argv"]), "\0")

    def test_a_case_is_a_line(self):
        for name, kinds in self.files.items():
            text = (FOLDER / name).read_text(encoding="utf-8")
            cases = [line for line in text.split("\n") if line.startswith("  { family = ") and line.endswith(" },")]
            self.assertEqual(len(cases), sum(map(len, kinds.values())), name)

    def test_each_is_in_the_half_that_its_hash_says(self):
        for name, _, line in self.lines:
            if name not in HALVES:
                continue
            with self.subTest(name_of(line)):
                self.assertEqual(half_of(line["argv"]), name)

    def test_each_family_is_in_both_halves(self):
        families = collections.Counter((kind, line["family"], name) for name, kind, line in self.lines)
        for kind, family in {key[:2] for key in families if key[2] in HALVES}:
            counts = [families[kind, family, name] for name in HALVES]
            self.assertGreaterEqual(min(counts) * 3, sum(counts), (kind, family))

    def test_no_line_is_there_twice(self):
        counts = collections.Counter(tuple(line["argv"]) for _, _, line in self.lines)
        self.assertEqual([argv for argv, count in counts.items() if count > 1], [])

    def test_each_secret_is_in_one_word_of_its_line_once(self):
        for _, line in self.secrets:
            with self.subTest(name_of(line)):
                for secret in line["secrets"]:
                    self.assertGreaterEqual(len(secret), 3)
                    self.assertEqual("\0".join(line["argv"]).count(secret), 1, secret)
                for one, other in itertools.permutations(line["secrets"], 2):
                    self.assertNotIn(one, other)

    def test_what_is_kept_is_in_the_line_beside_the_secrets(self):
        for _, line in self.secrets:
            with self.subTest(name_of(line)):
                rest = "\0".join(line["argv"])
                for secret in line["secrets"]:
                    rest = rest.replace(secret, "\1")
                for kept in line["kept"]:
                    self.assertIn(kept, rest)

    def test_no_secret_is_there_twice(self):
        counts = collections.Counter(secret for _, line in self.secrets for secret in line["secrets"])
        self.assertEqual([secret for secret, count in counts.items() if count > 1], [])
        # Short ones are words that others contain.
        text = "\0".join(word for _, _, line in self.lines for word in line["argv"])
        self.assertEqual([secret for secret in counts if len(secret) >= 8 and text.count(secret) > 1], [])

    def test_a_cut_line_has_the_length_of_one(self):
        cut = [line for _, _, line in self.lines if "…" in "".join(line["argv"])]
        self.assertGreaterEqual(len(cut), 10)
        for line in cut:
            with self.subTest(name_of(line)):
                self.assertEqual(len("\0".join(line["argv"]).replace("…", "")), 4096 - 1)


if __name__ == "__main__":
    unittest.main()
