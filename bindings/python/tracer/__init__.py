# SPDX-License-Identifier: Apache-2.0
"""libtracer: which programs ran in which task, what each consumed, and what it waited for, from the Linux kernel.

    import tracer
    with tracer.session(pipeline="rnaseq", sample="S1") as s:
        with s.task("align"):
            subprocess.run(["bwa", "mem", "ref.fa", "S1.fq"], check=True)
    print(s)
"""

from __future__ import annotations

import importlib

# Where each public name is: a module is imported when a name of it is used first.
_MODULE_OF = {
    "TracerError": "_errors",
    "InvalidArgumentError": "_errors",
    "NotPermittedError": "_errors",
    "UnsupportedKernelError": "_errors",
    "OutOfMemoryError": "_errors",
    "RecordingError": "_errors",
    "RulesError": "_errors",
    "CallbackError": "_errors",
    "CommandError": "_errors",
    "SessionClosedError": "_errors",
    "InternalError": "_errors",
    "MissingPackageError": "_errors",
    "Problem": "_errors",
    "Batch": "_tables",
    "Table": "_tables",
}

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> object:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'tracer' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"tracer.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULE_OF})
