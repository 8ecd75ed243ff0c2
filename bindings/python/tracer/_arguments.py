# SPDX-License-Identifier: Apache-2.0
"""Checks of what callers give: whatever is wrong is refused before anything happens, with its code and its fix."""

from __future__ import annotations

import codecs
import functools
import operator
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Set
from typing import Any, NoReturn, TypeVar, cast

from ._errors import InvalidArgumentError, InvalidTypeError

__all__ = [
    "callable_of", "checked_call", "codec_of", "environment_of", "flag_of", "kinds_of", "labels_of", "number_of", "path_of",
    "seconds_of", "shown", "text_of", "texts_of", "user_of", "whole_number_of", "words_of",
]

_F = TypeVar("_F", bound=Callable[..., Any])

Path = str | bytes | os.PathLike[str]

# Longer than anything lives: as good as for ever, and no clock's arithmetic overflows.
_FOREVER_S = 1e9


def checked_call(function: _F) -> _F:
    """Decorates: keywords that it does not have, and those that are missing, raise InvalidTypeError."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            # Had the function begun, its frame would be there.
            if error.__traceback__ is None or error.__traceback__.tb_next is not None:
                raise
            refused = InvalidTypeError(str(error), _fix_of(function, kwargs))
        raise refused

    return cast(_F, call)


def _fix_of(function: Callable[..., Any], given: Mapping[str, Any]) -> str:
    import difflib
    import inspect

    names = [name for name in inspect.signature(function).parameters if name != "self"]
    if "shell" in given and "argv" in names:
        return 'no shell is used: run ["bash", "-c", "…"]'
    for name in given:
        close = [] if name in names else difflib.get_close_matches(name, names, 1)
        if close:
            return f"did you mean {close[0]}?"
    return f"it takes {', '.join(names)}"


def _wrong_type(name: str, value: object, fix: str) -> NoReturn:
    raise InvalidTypeError(f"{name} can't be a {type(value).__name__}: {shown(value)}", fix)


def _wrong(name: str, value: object, fix: str) -> NoReturn:
    raise InvalidArgumentError(f"{name} can't be {shown(value)}", fix)


def shown(value: object) -> str:
    """For a message: never long, and it never raises."""
    try:
        text = repr(value)
    except Exception:
        return f"a {type(value).__name__}"
    return text if len(text) <= 100 else text[:99] + "…"


def flag_of(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        _wrong_type(name, value, "give True or False")
    return value


def whole_number_of(name: str, value: Any, least: int, most: int) -> int:
    """Of numpy and pandas, too."""
    fix = f"give a whole number from {least} {f'to {most}' if most < 2**63 - 1 else 'on'}"
    if isinstance(value, bool):
        _wrong_type(name, value, fix)
    try:
        number = operator.index(value)
    except TypeError:
        _wrong_type(name, value, fix)
    if not least <= number <= most:
        _wrong(name, value, fix)
    return number


def seconds_of(name: str, value: object) -> float | None:
    """A time to wait; None: forever."""
    if value is None:
        return None
    fix = "give a number of seconds from 0 on, or None: no limit"
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        _wrong_type(name, value, fix)
    if not value >= 0:
        _wrong(name, value, fix)
    return None if value > _FOREVER_S else float(value)


def number_of(name: str, value: object, most: float, *, least: float = 0) -> float:
    fix = f"give a number from {least:g} to {most:.0f}"
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        _wrong_type(name, value, fix)
    if not least <= value <= most:
        _wrong(name, value, fix)
    return float(value)


def text_of(name: str, value: object, *, empty: bool = False) -> str:
    """empty: "" is a text as well."""
    if not isinstance(value, str):
        _wrong_type(name, value, "give a str")
    if not (value or empty) or "\0" in value:
        _wrong(name, value, "give a text that is not empty and has no zero byte")
    return value


def path_of(name: str, value: object) -> Path:
    if not isinstance(value, (str, bytes, os.PathLike)):
        _wrong_type(name, value, "give a path: a str, bytes or os.PathLike")
    return value


def labels_of(value: object) -> dict[str, str]:
    if not isinstance(value, Mapping):
        _wrong_type("labels", value, "give a mapping of texts to texts, such as {\"lane\": \"3\"}")
    return {
        text_of("the name of a label", name): text_of(f"the label {name!r}", text, empty=True)
        for name, text in value.items()
    }


def words_of(name: str, value: object) -> list[Path]:
    """Those of a command, in their order."""
    fix = 'give its words, such as ["samtools", "sort"]'
    if isinstance(value, (str, bytes, os.PathLike, Set, Mapping)) or not isinstance(value, Collection):
        raise InvalidTypeError(f"{name} must be a list of words, not a {type(value).__name__}: {shown(value)}", fix)
    words = []
    for word in value:
        if not isinstance(word, (str, bytes, os.PathLike)):
            _wrong_type(f"a word of {name}", word, "give each word as a str, bytes or os.PathLike")
        if b"\0" in os.fsencode(word):
            _wrong(f"a word of {name}", word, "give words without a zero byte")
        words.append(word)
    if not words:
        raise InvalidArgumentError(f"{name} is empty", fix)
    return words


def texts_of(name: str, value: object, example: str) -> list[str]:
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        _wrong_type(name, value, f"give a collection of texts, such as {example}")
    return [text_of(f"one of {name}", each) for each in value]


def kinds_of(value: object) -> str | list[str] | None:
    """Of events; the library knows which there are."""
    if value is None or isinstance(value, str):
        return value
    return texts_of("kinds", value, '{"process_exit"}')


def callable_of(name: str, value: object) -> None:
    if not callable(value):
        _wrong_type(name, value, "give a function or another callable")


def user_of(user: str | int | None) -> str | None:
    if user is None:
        return None
    return text_of("user", user) if isinstance(user, str) else str(whole_number_of("user", user, 0, 2**32 - 2))


def environment_of(env: Any) -> list[bytes]:
    """What the kernel takes: NAME=VALUE. A zero byte would end it unseen, and = in a name begin the value."""
    if not isinstance(env, Mapping):
        raise InvalidTypeError(f"env can't be a {type(env).__name__}", "give a mapping of names to values")
    pairs = []
    for name, value in env.items():
        if not isinstance(name, (str, bytes)) or not isinstance(value, (str, bytes, os.PathLike)):
            # Not the value itself: it may be a secret.
            raise InvalidTypeError(f"env has {shown(name)} with a value of the type {type(value).__name__}",
                                   "give texts for both")
        pair = os.fsencode(name), os.fsencode(value)
        if not name or b"=" in pair[0] or b"\0" in b"".join(pair):
            raise InvalidArgumentError(f"env can't have {shown(name)} with this value, or at all",
                                       "give names that are not empty and have no =, and no zero bytes")
        pairs.append(b"=".join(pair))
    return pairs


def codec_of(what: str, name: str | None, default: str) -> str:
    """Looked up now: once the command has run, its output would be lost."""
    if name is None:
        return default
    try:
        codecs.lookup(text_of(what, name)) if what == "encoding" else codecs.lookup_error(text_of(what, name))
    except LookupError:
        raise InvalidArgumentError(f"Python has no {what} {name!r}", f"give one that it has, such as {default!r}") from None
    return name
