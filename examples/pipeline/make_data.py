#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Make a small, reproducible data set for pipeline.sh.

Writes DIR/data with a made-up genome (genome.fa) and, for each sample, a pair
of gzipped FASTQ files (S1_R1.fastq.gz, S1_R2.fastq.gz, ...). The same
arguments give the same bytes each time. A complete DIR/data made with the same
arguments is left as it is.
"""

import argparse
import gzip
import hashlib
import json
import math
import os
import random
import shutil
import signal
import sys

FORMAT = 1  # raise when the output for the same arguments changes
SEED = 20240229
READ_LENGTH = 100
ERROR_RATE = 0.01
VARIANT_RATE = 0.001
CHROMOSOME_SHARES = (0.4, 0.3, 0.2, 0.1)
LINE = 70
MANIFEST = "manifest.json"

TO_BASE = bytes(b"ACGT"[i & 3] for i in range(256))
COMPLEMENT = bytes.maketrans(b"ACGT", b"TGCA")
# SUBSTITUTES[base] holds the three other bases.
SUBSTITUTES = {base: bytes(b"ACGT".replace(bytes([base]), b"")) for base in b"ACGT"}


def substitute(sequence, rate, rng):
    """Replace about one base in 1/rate by another one, in place."""
    scale = 1.0 / math.log(1.0 - rate)
    uniform = rng.random
    log = math.log
    end = len(sequence)
    at = int(log(1.0 - uniform()) * scale)
    while at < end:
        sequence[at] = SUBSTITUTES[sequence[at]][int(uniform() * 3)]
        at += 1 + int(log(1.0 - uniform()) * scale)


def make_genome(bases, rng):
    """A list of (name, sequence)."""
    lengths = [int(bases * share) for share in CHROMOSOME_SHARES]
    lengths[0] += bases - sum(lengths)
    return [
        ("chr%d" % number, rng.randbytes(length).translate(TO_BASE))
        for number, length in enumerate(lengths, 1)
    ]


def write_genome(path, genome):
    with open(path, "wb") as out:
        for name, sequence in genome:
            out.write(b">%s\n" % name.encode())
            for at in range(0, len(sequence), LINE):
                out.write(sequence[at:at + LINE] + b"\n")


def quality_pool(rng, size=256):
    """Quality strings that fall off towards the end of the read."""
    pool = []
    for _ in range(size):
        pool.append(bytes(
            33 + max(2, 38 - int(12 * at / READ_LENGTH) - int(rng.random() * 6))
            for at in range(READ_LENGTH)))
    return pool


def write_fastq(path, sample, mate, reads, qualities, picks):
    tag = b"@%s:%%d/%d\n" % (sample.encode(), mate)
    records = []
    for index in range(len(reads) // READ_LENGTH):
        at = index * READ_LENGTH
        records.append(b"%b%b\n+\n%b\n" % (
            tag % (index + 1), reads[at:at + READ_LENGTH], qualities[picks[index]]))
    # No file name and no time in the header: the bytes depend on the data only.
    with open(path, "wb") as raw:
        with gzip.GzipFile(filename="", mode="wb", compresslevel=1, fileobj=raw,
                           mtime=0) as out:
            out.write(b"".join(records))


def write_sample(folder, sample, genome, pairs, rng):
    # Each sample is the genome with some variants of its own.
    strands = []
    for _, sequence in genome:
        own = bytearray(sequence)
        substitute(own, VARIANT_RATE, rng)
        strands.append((bytes(own), bytes(own[::-1].translate(COMPLEMENT))))

    ends = []  # running sum of chromosome lengths, to pick one by its length
    total = 0
    for forward, _ in strands:
        total += len(forward)
        ends.append(total)

    uniform = rng.random
    first, second = [], []
    for _ in range(pairs):
        point = int(uniform() * total)
        chromosome = 0
        while point >= ends[chromosome]:
            chromosome += 1
        forward, reverse = strands[chromosome]
        length = len(forward)
        # The sum of four uniforms is close enough to a normal distribution.
        insert = 250 + int(50 * (uniform() + uniform() + uniform() + uniform()))
        start = int(uniform() * (length - insert))
        one = forward[start:start + READ_LENGTH]
        back = length - start - insert
        two = reverse[back:back + READ_LENGTH]
        if uniform() < 0.5:
            one, two = two, one
        first.append(one)
        second.append(two)

    qualities = quality_pool(rng)
    names = []
    for mate, reads in ((1, first), (2, second)):
        bases = bytearray(b"".join(reads))
        substitute(bases, ERROR_RATE, rng)
        name = "%s_R%d.fastq.gz" % (sample, mate)
        write_fastq(os.path.join(folder, name), sample, mate, bytes(bases), qualities,
                    rng.randbytes(pairs))
        names.append(name)
    return names


def sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def read_manifest(folder):
    try:
        with open(os.path.join(folder, MANIFEST), encoding="ascii") as file:
            manifest = json.load(file)
        if manifest["generator"] == "make_data.py" and isinstance(manifest["files"], dict):
            return manifest
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return None


def made_names(manifest):
    return [os.path.basename(name) for name in manifest["files"]] + [MANIFEST]


def is_complete(folder, manifest, settings):
    if manifest.get("settings") != settings:
        return False
    try:
        return all(sha256(os.path.join(folder, name)) == digest
                   for name, digest in manifest["files"].items())
    except (OSError, KeyError, AttributeError):
        return False


def replace_folder(old, manifest, new):
    """Put `new` where `old` is; `old` holds nothing but files we made."""
    if manifest is not None:
        for name in made_names(manifest):
            try:
                os.unlink(os.path.join(old, name))
            except FileNotFoundError:
                pass
    if os.path.isdir(old):
        os.rmdir(old)  # refuses when something else came in meanwhile
    os.rename(new, old)


def positive(text):
    value = int(text)
    if value <= 0:
        raise argparse.ArgumentTypeError("must be above 0")
    return value


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--out", required=True, metavar="DIR",
                        help="the data go to DIR/data")
    parser.add_argument("--genome-bases", type=positive, default=2000000, metavar="N",
                        help="size of the genome (default: %(default)s)")
    parser.add_argument("--reads", type=positive, default=120000, metavar="N",
                        help="reads per sample, two to a pair (default: %(default)s)")
    parser.add_argument("--samples", type=positive, default=3, metavar="N",
                        help="number of samples (default: %(default)s)")
    args = parser.parse_args()
    if args.genome_bases < 10000:
        parser.error("--genome-bases must be 10000 or more")
    if args.reads < 2:
        parser.error("--reads must be 2 or more")

    settings = {"format": FORMAT, "seed": SEED, "genome_bases": args.genome_bases,
                "reads": args.reads, "samples": args.samples}
    target = os.path.join(args.out, "data")
    manifest = read_manifest(target)
    if manifest is not None and is_complete(target, manifest, settings):
        print("%s is complete, nothing to do" % target)
        return 0
    if os.path.lexists(target):
        ours = made_names(manifest) if manifest is not None else []
        if not os.path.isdir(target) or set(os.listdir(target)) - set(ours):
            print("make_data.py: %s holds files not made by this program; "
                  "move it away or choose another --out" % target, file=sys.stderr)
            return 1

    os.makedirs(args.out, exist_ok=True)
    partial = os.path.join(args.out, ".data.%d.partial" % os.getpid())
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    os.mkdir(partial)
    try:
        genome = make_genome(args.genome_bases, random.Random(SEED))
        write_genome(os.path.join(partial, "genome.fa"), genome)
        names = ["genome.fa"]
        for number in range(1, args.samples + 1):
            # A generator of its own: S1 is the same however many samples follow.
            rng = random.Random(SEED + number)
            names += write_sample(partial, "S%d" % number, genome, args.reads // 2, rng)
        made = {"generator": "make_data.py", "settings": settings,
                "files": {name: sha256(os.path.join(partial, name)) for name in names}}
        with open(os.path.join(partial, MANIFEST), "w", encoding="ascii") as file:
            json.dump(made, file, indent=2, sort_keys=True)
            file.write("\n")
        try:
            replace_folder(target, manifest, partial)
        except OSError as error:
            print("make_data.py: cannot replace %s: %s" % (target, error), file=sys.stderr)
            return 1
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    print("made %s: %d bases, %d samples of %d reads" % (
        target, args.genome_bases, args.samples, args.reads // 2 * 2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
