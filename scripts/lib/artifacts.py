# SPDX-License-Identifier: Apache-2.0
"""What the slow steps depend on: the parts of their stamps."""
import functools
import json
import pathlib
import platform
import re
import subprocess

from stamps import digest


def first_line_of(*command):
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    return result.stdout.split("\n")[0].strip() if result.returncode == 0 else None


def digests(root, paths):
    return {str(path.relative_to(root)): digest(path) for path in sorted(paths)}


def compilations(build):
    """All that this build compiles: source, object, command. Of sources that are compiled together each has the command that
    would compile it alone."""
    for entry in json.loads((build / "compile_commands.json").read_text()):
        source, command = entry["file"], entry["command"]
        if "/cmake_pch." in source:
            continue
        output = re.search(r" -o (\S+)", command).group(1)
        together = re.findall(r'^#include "(.*)"', pathlib.Path(source).read_text(), re.M) if "/Unity/" in source else [source]
        for each in together:
            yield each, output, command.replace(source, each)


def objects_of(build, *prefixes):
    """Not what lies in the folder: that may be of sources that are gone."""
    return [build / output for output in sorted({output for _, output, _ in compilations(build)}) if output.startswith(prefixes)]


def library_objects(build, *folders):
    """Those in which something of these folders of lib/ is."""
    return [build / output for output in sorted({output for source, output, _ in compilations(build)
                                                 if output.startswith("lib/CMakeFiles/tracer_objects.dir/")
                                                 and any(f"/lib/{folder}/" in source for folder in folders)})]


def cached_path(build, variable):
    found = re.search(rf"^{variable}:[A-Z]+=(.*)$", (build / "CMakeCache.txt").read_text(), re.M)
    return pathlib.Path(found.group(1))


def sources(root, *patterns):
    return [path for pattern in patterns for path in root.glob(pattern) if path.is_file()]


def of_any_kernel(root):
    """What a kernel's tests depend on, whichever kernel."""
    build = root / "build/dev"
    parts = digests(build, (build / "bpf").glob("*.bpf.o"))
    parts |= digests(build, [*library_objects(build, "source"), *objects_of(build, "tests/kernel/")])
    parts |= digests(root, sources(root, "tests/kernel/emulate", "tests/kernel/vmtest.sh"))
    parts |= {name: digest(cached_path(build, name)) for name in ("LIBBPF_STATIC", "LIBELF_STATIC")}
    return parts | {"qemu": first_line_of("qemu-system-x86_64", "--version")}


def kernel_package(root, kernel):
    """The newest package that KERNEL means today; None: nobody knows."""
    return first_line_of(str(root / "tests/kernel/vmtest.sh"), "-p", kernel)


def of_whole_kernel_tests(root):
    """Any change of the library, also one that has nothing to do with kernels."""
    return digests(root, [root / "build/dev/tests/kernel/kernel_tests"])


def of_this_kernel(root):
    """The ground truth on the kernel that runs here."""
    return of_whole_kernel_tests(root) | {"kernel": platform.release()}


def of_command_line(root):
    inputs = sources(root, "build/dev/tracerd", "build/dev/tests/cli/take_out_findings", "tests/cli/*.py", "tests/hostile/*", "rules/*",
                     "tests/data/recordings/**/*", "tests/support/fake_*.c", "scripts/on_gpu", "scripts/lib/gpu_*.py", "packaging/grafana/*",
                     "docs/service.md")
    return digests(root, inputs) | {"kernel": platform.release()}


def of_attacks(root):
    """Those of ordinary users on a service."""
    return digests(root, sources(root, "build/dev/tracerd", "tests/hostile/*", "tests/cli/keeper.py", "rules/*")) | {"kernel": platform.release()}


@functools.cache
def of_other_builds(root):
    """Sources: what is built for its test only is not built to find that it has passed."""
    inputs = sources(root, "lib/**/*", "include/tracer/*", "bpf/**/*", "bindings/c/**/*", "rules/*", "cmake/*", "CMake*",
                     "tests/CMakeLists.txt", "tests/support/*")
    return digests(root, inputs) | {"compiler": first_line_of("c++", "--version"), "clang": first_line_of("clang", "--version")}


def of_sanitizer(root, preset):
    return of_other_builds(root) | {"preset": preset} | digests(
        root, sources(root, *(f"tests/{name}/*" for name in ("unit", "fault", "kernel", "c")), "tests/data/**/*"))


def of_fuzzing(root, seconds):
    return of_other_builds(root) | digests(root, sources(root, "tests/fuzz/*", "tests/data/**/*")) | {"seconds": str(seconds)}


def of_engines(root):
    build = root / "build/dev"
    parts = digests(build, (build / "bpf").glob("*.bpf.o"))
    parts |= digests(build, library_objects(build, "context", "correlate", "rules", "source", "state"))
    return parts | digests(root, sources(root, "rules/*.toml", "tests/engines/**/*", "tests/plugins/**/*", "plugins/**/*"))


def of_package(root):
    build = root / "build/dev"
    parts = digests(build, [build / "tracerd", *build.glob("lib/libtracer.so.*.*.*"),
                            *build.glob("bindings/c/libtracer-c.so.*.*.*"), *objects_of(build, "lib/", "bindings/c/")])
    inputs = sources(root, "include/tracer/*", "rules/*.toml", "cmake/*", "CMakeLists.txt", "*/CMakeLists.txt",
                     "bindings/c/include/**/*", "bindings/c/*.*", "tests/package/**/*")
    return parts | digests(root, inputs) | {"compiler": first_line_of("c++", "--version"),
                                            "cmake": first_line_of("cmake", "--version")}


def of_packages(root):
    """What scripts/packages puts into packages, how it does that, and their test."""
    inputs = sources(root, "packaging/**/*", "docs/**/*.md", "scripts/packages", "CHANGELOG.md", "pyproject.toml", "views/page.*",
                     "tests/scripts/fake_release.py", "views/dist/*", "bindings/python/CMakeLists.txt",
                     *(f"scripts/lib/{name}.py" for name in ("completion", "deb_packages", "deb_python", "debian_roots", "help_texts",
                                                            "manual_pages", "release", "release_keys", "release_repositories", "sbom", "staged_files",
                                                            "static_tarball", "systemd_machine")))
    return of_package(root) | of_all_python_modules(root) | digests(root, inputs)


@functools.cache
def of_all_python_modules(root):
    """Computed once: what is digested there is large."""
    helpers = [path for path in sources(root, "tests/python/*.py") if not path.name.startswith("test_")]
    package = sources(root, *(f"bindings/python/tracer/{names}" for names in ("**/*.py", "**/*.pyi", "**/*.sql", "**/*.toml", "_core*.so")))
    return digests(root, [*helpers, *package, *sources(root, "tests/python/requirements.txt", "tests/python/data/**/*",
                                                       "build/dev/tracerd", "build/dev/tests/python/make_*", "build/dev/tests/c/print_report")])


def of_python_module(root, module):
    """One module of the Python package's tests."""
    return of_all_python_modules(root) | digests(root, sources(root, f"tests/python/{module}.py"))


def of_c_interface(root):
    build = root / "build/dev"
    libraries = [path for path in build.glob("bindings/c/libtracer-c.so.*.*.*") if path.is_file()]
    return digests(build, libraries) | digests(root, sources(root, "bindings/c/**/*", "tests/c/**/*", "examples/c/**/*"))


def of_wheel(root):
    """All that a wheel is made of, and its test."""
    build = root / "build/dev"
    inputs = sources(root, "pyproject.toml", "cmake/*", "CMakeLists.txt", "*/CMakeLists.txt", "bindings/python/CMakeLists.txt",
                     "scripts/wheel", "scripts/lib/python_package.py")
    return (of_python_module(root, "test_wheel") | digests(root, inputs)
            | digests(build, objects_of(build, "lib/", "daemon/")) | {"compiler": first_line_of("c++", "--version")})


def of_other_pythons(root):
    """Which Pythons there are is not asked: a new one is tested with the next change."""
    parts = of_python_module(root, "test_*")
    return parts | digests(root, sources(root, "scripts/python_tests", "scripts/lib/python_package.py", "scripts/lib/pythons.py"))


def of_documents(root):
    """What the snippets of the documentation run, and what is shown of it."""
    build = root / "build/dev"
    inputs = sources(root, "mkdocs.yml", "README.md", "docs/**/*", "tests/docs/**/*", "include/tracer/*", "bindings/c/*.h",
                     "examples/**/*")
    return of_python_module(root, "test_import") | digests(root, inputs) | digests(build, objects_of(build, "lib/"))
