# SPDX-License-Identifier: Apache-2.0
"""libtracer reports which programs ran in which task, what each consumed, and what it waited for, from the Linux
kernel.

    import tracer
    with tracer.session(pipeline="rnaseq", sample="S1") as s:
        with s.task("align"):
            subprocess.run(["bwa", "mem", "ref.fa", "S1.fq"], check=True)
    print(s)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    __version__: str
    from ._attach import attach as attach
    from ._check import CheckItem as CheckItem, CheckReport as CheckReport, check as check
    from ._check import check_engine_rules as check_engine_rules
    from ._errors import (
        BillError as BillError, CallbackError as CallbackError, CommandError as CommandError, InternalError as InternalError,
        InvalidArgumentError as InvalidArgumentError, InvalidTypeError as InvalidTypeError, InventoryError as InventoryError,
        LakeError as LakeError, MissingPackageError as MissingPackageError, NotPermittedError as NotPermittedError,
        OutOfMemoryError as OutOfMemoryError, Problem as Problem, RecordingError as RecordingError,
        RulesError as RulesError, ServiceError as ServiceError, SessionClosedError as SessionClosedError,
        TracerError as TracerError,
        UnsupportedKernelError as UnsupportedKernelError, WhatIfError as WhatIfError,
    )
    from ._events import (
        AwaitedTask as AwaitedTask, CgroupSample as CgroupSample, Connection as Connection,
        ContainerFinish as ContainerFinish, ContainerStart as ContainerStart, Context as Context,
        ContextChange as ContextChange, ContextTotals as ContextTotals, DeviceSample as DeviceSample,
        EVENT_KINDS as EVENT_KINDS, Event as Event, Evidence as Evidence, ExpectedTasks as ExpectedTasks,
        FailedProcess as FailedProcess, FileUse as FileUse, Finding as Finding, GpuSample as GpuSample,
        GpuUse as GpuUse, Host as Host, HostSample as HostSample, KindCount as KindCount, Label as Label,
        Ledger as Ledger, Loss as Loss, OomKill as OomKill, Overruled as Overruled, OwnWork as OwnWork,
        ProcessExec as ProcessExec, ProcessExit as ProcessExit, ProcessLedger as ProcessLedger,
        ProcessSample as ProcessSample, ProcessStart as ProcessStart, ProgramAccount as ProgramAccount,
        Progress as Progress, Provenance as Provenance, Requested as Requested, RunFinish as RunFinish,
        RunStart as RunStart, SessionEnd as SessionEnd, SnapshotEnd as SnapshotEnd, SyscallUse as SyscallUse,
        TaskFinish as TaskFinish, TaskLedger as TaskLedger, TaskStart as TaskStart, TaskSubmit as TaskSubmit,
        ToolSample as ToolSample,
    )
    from .lake._ask import Lake as Lake, LakeTable as LakeTable, lake as lake
    from ._open import connect as connect, session as session
    from ._recording import Recording as Recording, past as past, read as read
    from ._report import (
        CgroupMemory as CgroupMemory, Certificate as Certificate, CriticalPath as CriticalPath, Excused as Excused,
        Failure as Failure, Figure as Figure, MissingFamily as MissingFamily, PathTask as PathTask, Pipeline as Pipeline,
        Report as Report, ReportCost as ReportCost, ReportNode as ReportNode, ReportRow as ReportRow,
        RequestedUse as RequestedUse, Series as Series, Survivor as Survivor, Timeline as Timeline, TimeShare as TimeShare, Waste as Waste,
    )
    from ._run import run as run
    from ._run_result import CommandFailedError as CommandFailedError, RunResult as RunResult, Usage as Usage
    from ._session import Session as Session
    from ._state import Damage as Damage, FamilyState as FamilyState, Statistics as Statistics
    from ._streams import Batches as Batches, EventStream as EventStream, TableBatches as TableBatches
    from ._tables import Batch as Batch, Table as Table
    from ._task import Task as Task, task as task

# Where each public name is: a module is imported when a name of it is used first.
_NAMES_IN = {
    "_attach": "attach",
    "_check": "CheckItem CheckReport check check_engine_rules",
    "_errors": "BillError CallbackError CommandError InternalError InvalidArgumentError InvalidTypeError InventoryError LakeError "
    "MissingPackageError NotPermittedError OutOfMemoryError Problem RecordingError RulesError ServiceError SessionClosedError TracerError "
    "UnsupportedKernelError WhatIfError",
    "_events": "AwaitedTask CgroupSample Connection ContainerFinish ContainerStart Context ContextChange ContextTotals "
    "DeviceSample EVENT_KINDS Event Evidence ExpectedTasks FailedProcess FileUse Finding GpuSample GpuUse Host "
    "HostSample KindCount Label Ledger Loss OomKill Overruled OwnWork ProcessExec ProcessExit ProcessLedger "
    "ProcessSample ProcessStart ProgramAccount Progress Provenance Requested RunFinish RunStart SessionEnd "
    "SnapshotEnd SyscallUse TaskFinish TaskLedger TaskStart TaskSubmit ToolSample",
    "_open": "connect session",
    "lake._ask": "Lake LakeTable lake",
    "_recording": "Recording past read",
    "_report": "CgroupMemory Certificate CriticalPath Excused Failure Figure MissingFamily PathTask Pipeline Report ReportCost "
    "ReportNode ReportRow RequestedUse Series Survivor TimeShare Timeline Waste",
    "_run": "run",
    "_run_result": "CommandFailedError RunResult Usage",
    "_session": "Session",
    "_state": "Damage FamilyState Statistics",
    "_streams": "Batches EventStream TableBatches",
    "_tables": "Batch Table",
    "_task": "Task task",
}
_MODULE_OF = {name: module for module, names in _NAMES_IN.items() for name in names.split()}

__all__ = sorted(_MODULE_OF)

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name == "__version__":
            from . import _core

            return _core.version
        module = _MODULE_OF.get(name)
        if module is None:
            raise AttributeError(f"module 'tracer' has no attribute {name!r}")
        value = getattr(importlib.import_module(f"tracer.{module}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULE_OF})


def load_ipython_extension(shell: Any) -> None:
    """For %load_ext tracer."""
    from ._magic import load

    load(shell)
