# SPDX-License-Identifier: Apache-2.0
"""What a release consists of, for those who must know: CycloneDX, from Debian's list of what it was built with, and the lists of
versions in the sources."""
import datetime
import hashlib
import json
import os
import re
import urllib.parse
import uuid

from staged_files import ROOT, output_of

# Beside the -dev packages of scripts/lib/packages: what a static program has of the compiler.
OF_COMPILER = "libc.a", "libstdc++.a", "libgcc.a"


def packages_of_compiler():
    """Of the one that compiles."""
    paths = [os.path.realpath(output_of("c++", f"-print-file-name={name}")) for name in OF_COMPILER]
    return [line.partition(":")[0] for line in output_of("dpkg-query", "-S", *paths).splitlines()]


def linked_libraries():
    """(name, version) of each library that a static tracerd contains."""
    listed = output_of("bash", "-c", '. scripts/lib/packages && echo "${BUILD_PACKAGES[*]}"').split()
    wanted = [name for name in listed if name.endswith("-dev")]
    found = output_of("dpkg-query", "-W", "-f", "${Package} ${Version}\n", *wanted, *packages_of_compiler())
    return [tuple(line.split()) for line in found.splitlines()]


def component(kind, name, version, **more):
    purl = f"pkg:{kind}/{name}@{urllib.parse.quote(version, safe='')}"
    return {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl} | more


def components():
    found = [component("deb/debian", name, version) for name, version in linked_libraries()]
    pinned = re.findall(r"(?m)^(\S+)==(\S+)", (ROOT / "packaging/python-versions.txt").read_text())
    found += [component("pypi", name.lower(), version) for name, version in pinned]
    of_page = json.loads((ROOT / "views/package-lock.json").read_text())["packages"]
    found += [component("npm", "preact", of_page["node_modules/preact"]["version"])]
    return sorted(found, key=lambda each: each["purl"])


def text(out, version, date):
    """With the SHA-256 of each file in the folder `out`."""
    files = [{"type": "file", "name": path.relative_to(out).as_posix(),
              "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(path.read_bytes()).hexdigest()}]}
             for path in sorted(out.rglob("*")) if path.is_file()]
    body = {"metadata": {"timestamp": datetime.datetime.fromtimestamp(date, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
                         "component": {"type": "application", "bom-ref": "libtracer", "name": "libtracer", "version": version,
                                       "licenses": [{"license": {"id": "Apache-2.0"}}]}},
            "components": components() + files}
    serial = uuid.uuid5(uuid.NAMESPACE_OID, json.dumps(body))
    return json.dumps({"bomFormat": "CycloneDX", "specVersion": "1.5", "serialNumber": f"urn:uuid:{serial}", "version": 1} | body,
                      indent=1) + "\n"
