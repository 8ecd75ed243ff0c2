# SPDX-License-Identifier: Apache-2.0
"""Running a command: tracer.run()."""

from __future__ import annotations

import os
import signal
import subprocess
import time
import warnings
from collections.abc import Collection, Mapping
from typing import Any

from . import _core
from ._arguments import checked_call, codec_of, environment_of, flag_of, path_of, seconds_of, user_of, words_of
from ._errors import CallbackError, InvalidArgumentError, InvalidTypeError, NotPermittedError, Problem
from ._open import session_of_command
from ._pipes import Pipes
from ._run_result import Path, RunResult, as_typed, at_least
from ._session import Session, open_sessions

__all__ = ["run", "run_in"]

# As subprocess: for a command that has got the same Ctrl-C.
_AFTER_INTERRUPT_S = 0.25


@checked_call
def run(
    argv: Collection[Path],
    *,
    pipeline: str | None = None,
    run: str | None = None,
    sample: str | None = None,
    step: str | None = None,
    labels: Mapping[str, str] | None = None,
    record: Path | None = None,
    families: Collection[str] | None = None,
    sample_interval: float | None = None,
    max_cost_share: float | None = None,
    engine_rules: Path | None = None,
    mask_secrets: bool = True,
    hash_paths: bool = False,
    check: bool = False,
    cwd: Path | None = None,
    env: Mapping[str, str] | Mapping[bytes, bytes] | None = None,
    user: str | int | None = None,
    input: str | bytes | None = None,
    stdin: Any = None,
    stdout: Any = None,
    stderr: Any = None,
    capture_output: bool = False,
    text: bool = False,
    encoding: str | None = None,
    errors: str | None = None,
    timeout: float | None = None,
) -> RunResult:
    """Runs a command and returns what it consumed, from its first instruction to its last switch: the accounts of
    `tracerd run`.

    If an open session follows this process, the command runs in that session, which costs next to nothing: its events,
    tables and tasks include the command. Otherwise, or if `pipeline`, `run`, `record` or an option of a session is
    given, it opens its own session, which takes some tenths of a second.

    `argv`: the words of the command; no shell is involved. The first keywords are those of tracer.session(); the
    others, from `check` on, mean the same as in subprocess.run(), which has more. `user`: a name or number to run as;
    as another user, the command can't inject input into the terminal. With `check=True`, a command that fails raises
    CommandFailedError, which is also a subprocess.CalledProcessError. After `timeout` seconds the command is killed,
    and subprocess.TimeoutExpired is raised.

    Problems with the recording at the command's end are a RuntimeWarning, and are in `problems` of the result. Raises
    NotPermittedError without the right to trace: it says what is missing, and how to do without. Raises CommandError if
    the command does not exist or can't be executed.
    """
    of_session = (pipeline, run, record, families, sample_interval, max_cost_share, engine_rules)
    is_plain = mask_secrets and not hash_paths and all(each is None for each in of_session)
    shared = _session_of_this_process() if is_plain else None
    if shared is not None:
        return run_in(
            shared, argv, sample=sample, step=step, labels=labels, check=check, cwd=cwd, env=env, user=user, input=input,
            stdin=stdin, stdout=stdout, stderr=stderr, capture_output=capture_output, text=text, encoding=encoding,
            errors=errors, timeout=timeout,
        )
    options = _Options(argv, check, cwd, env, user, input, stdin, stdout, stderr, capture_output, text, encoding, errors,
                       timeout)
    with _Running(options) as running:
        try:
            own = session_of_command(
                running.command.pid, pipeline=pipeline, run=run, sample=sample, step=step, labels=labels, record=record,
                families=families, sample_interval=sample_interval, max_cost_share=max_cost_share,
                engine_rules=engine_rules, mask_secrets=mask_secrets, hash_paths=hash_paths,
            )
        except NotPermittedError as error:
            raise _with_other_way(error, options.argv) from None
        try:
            status = running.finish(own, True)
        except BaseException as error:
            own.__exit__(type(error), error, None)
            raise
        problem = own._end(to_its_end=True)
        if problem is not None:
            # Past checked_call.
            warnings.warn(str(problem), RuntimeWarning, stacklevel=3)
        return running.result(own, status, True)


def _session_of_this_process() -> Session | None:
    """The newest one that is open and follows it."""
    found = [each for each in open_sessions() if each._follows == os.getpid()]
    return max(found, key=lambda each: each._tasks, default=None)


def run_in(
    open_session: Session,
    argv: Collection[Path],
    *,
    task: str | None = None,
    sample: str | None = None,
    step: str | None = None,
    labels: Mapping[str, str] | None = None,
    check: bool = False,
    cwd: Path | None = None,
    env: Mapping[str, str] | Mapping[bytes, bytes] | None = None,
    user: str | int | None = None,
    input: str | bytes | None = None,
    stdin: Any = None,
    stdout: Any = None,
    stderr: Any = None,
    capture_output: bool = False,
    text: bool = False,
    encoding: str | None = None,
    errors: str | None = None,
    timeout: float | None = None,
) -> RunResult:
    """Session.run(): `task` names a task of its own; `sample`, `step` and `labels` are added to it."""
    options = _Options(argv, check, cwd, env, user, input, stdin, stdout, stderr, capture_output, text, encoding, errors,
                       timeout)
    if open_session._core.in_callback:
        raise CallbackError.of("TRC116", None, "run() inside a callback of its session would wait for itself",
                               "run it on another thread, or when the callback has returned")
    # What follows this process has the command from its fork on.
    follows = open_session._core if open_session._follows == os.getpid() else None
    said = (task, sample, step, labels)
    if any(each is not None for each in said):
        name = task if task is not None else step if step is not None else os.path.basename(os.fsdecode(options.argv[0]))
        with open_session.task(name, sample=sample, step=step, labels=labels):
            running = _begun_in(open_session, options, follows)
    else:
        running = _begun_in(open_session, options, follows)
    with running:
        status = running.finish(open_session, False)
        return running.result(open_session, status, False)


def _begun_in(open_session: Session, options: _Options, follows: _core.Session | None) -> _Running:
    running = _Running(options, follows)
    if follows is None:
        try:
            open_session._core.track(running.command.pid, open_session._context)
        except BaseException:
            running.__exit__(None, None, None)
            raise
        # The context of its task, which has that of the session within, counts where one is open.
        _core.label_process(running.command.pid)
    return running


def _with_other_way(error: NotPermittedError, argv: list[Path]) -> NotPermittedError:
    way = (f"or record it with: sudo env \"PATH=$PATH\" tracerd run --record run.tracer -- {as_typed(argv)}\n"
           "  and read that: tracer.read(\"run.tracer\")")
    first, *others = error.problems
    fix = f"{first.fix}; {way}" if first.fix else way
    return NotPermittedError((Problem(first.code, first.errno, first.what, fix, first.detail), *others))


class _Options:
    """The keywords of subprocess.run(), checked."""

    def __init__(self, argv: Any, check: bool, cwd: Path | None, env: Any, user: str | int | None, input: Any, stdin: Any,
                 stdout: Any, stderr: Any, capture_output: bool, text: bool, encoding: str | None, errors: str | None,
                 timeout: float | None) -> None:
        self.argv = words_of("argv", argv)
        if cwd is not None and not os.path.isdir(path_of("cwd", cwd)):
            raise InvalidArgumentError(f"cwd: there is no folder {os.fsdecode(cwd)}", "give a folder that exists")
        if input is not None and stdin is not None:
            raise InvalidArgumentError("stdin and input may not both be used", "leave one of them out")
        if stdin == subprocess.PIPE:
            raise InvalidArgumentError("stdin can't be PIPE, because nobody would write to it", "use input")
        if flag_of("capture_output", capture_output) and (stdout is not None or stderr is not None):
            raise InvalidArgumentError("stdout and stderr may not be used with capture_output", "leave it out")
        self.check, self.cwd, self.timeout = flag_of("check", check), cwd, seconds_of("timeout", timeout)
        self.user = user_of(user)
        self.environment = None if env is None else environment_of(env)
        self.text = bool((text is not None and flag_of("text", text)) or encoding or errors)
        self.encoding, self.errors = codec_of("encoding", encoding, "utf-8"), codec_of("errors", errors, "strict")
        if isinstance(input, str):
            if not self.text:
                raise InvalidTypeError("input is a text, but the command's streams are bytes", "give bytes, or text=True")
            input = input.encode(self.encoding, self.errors)
        elif input is not None and not isinstance(input, (bytes, bytearray, memoryview)):
            raise InvalidTypeError(f"input can't be a {type(input).__name__}",
                                   "give bytes, or a str with text=True")
        self.input = input
        self.streams = (stdin, subprocess.PIPE if capture_output else stdout,
                        subprocess.PIPE if capture_output else stderr)

    def decoded(self, output: bytes | None) -> str | bytes | None:
        if output is None or not self.text:
            return output
        return output.decode(self.encoding, self.errors).replace("\r\n", "\n").replace("\r", "\n")


class _Running:
    """A command that was forked. Whatever happens, it and its pipes are gone with the scope."""

    def __init__(self, options: _Options, follows: _core.Session | None = None) -> None:
        self._options = options
        self._watched = follows is not None
        self._pipes = Pipes(*options.streams, options.input)
        # Of several coroutines each has a task of its own.
        _core.sync_labels()
        try:
            self.command = _core.CommandRun(
                options.argv, options.environment, options.cwd, options.user, self._pipes.theirs, follows
            )
        except BaseException:
            self._pipes.close()
            raise

    def __enter__(self) -> _Running:
        return self

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        try:
            if self.command.running:
                self._end(error)
        finally:
            self._pipes.close()
            self.command.unwatch()

    def _end(self, error: BaseException | None) -> None:
        # With a Ctrl-C in the terminal the command has got it as well.
        if isinstance(error, KeyboardInterrupt):
            try:
                if self.command.wait(_AFTER_INTERRUPT_S):
                    return
            except KeyboardInterrupt:
                pass
        self.command.signal(signal.SIGKILL)
        self.command.wait()

    def finish(self, in_session: Session, whole: bool) -> int:
        """Runs it to its end; its return code."""
        options = self._options
        begin = time.monotonic()
        deadline = None if options.timeout is None else begin + options.timeout
        if not self._watched:
            self.command.watch(in_session._core, whole)
        self.command.release()
        self._pipes.started()
        in_time = self._pipes.exchange(deadline)
        if in_time:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            in_time = self.command.wait(left)
        if not in_time:
            assert options.timeout is not None
            self.command.signal(signal.SIGKILL)
            self.command.wait()
            raise subprocess.TimeoutExpired(
                options.argv, options.timeout, self._pipes.output(1), self._pipes.output(2)
            )
        self.command.settle()
        assert self.command.status is not None
        return os.waitstatus_to_exitcode(self.command.status)

    def result(self, in_session: Session, status: int, whole: bool) -> RunResult:
        self.command.unwatch()
        usage = self.command.usage(in_session._core if whole else None)
        if not self.command.settled:
            usage = at_least(usage)
        stdout, stderr = (self._options.decoded(self._pipes.output(number)) for number in (1, 2))
        result = RunResult(self._options.argv, status, stdout, stderr, usage, in_session,
                           (self.command.pid, self.command.since_ns, whole))
        if self._options.check:
            result.check_returncode()
        return result
