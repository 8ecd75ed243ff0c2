# SPDX-License-Identifier: Apache-2.0
"""A lake in a bucket, by obstore."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from .._errors import InvalidArgumentError, LakeError, MissingPackageError, TracerError
from ._store import NO_ANSWER, Put, Store, no_answer, refused

__all__ = ["Bucket", "options_of"]

# What takes longer than this and 1 Mbit/s is no slow network.
_ANSWER_S = 60
_CONNECT_S = 10
_SILENT_S = 30
_S_PER_MIB = 8
_CHUNK_BYTES = 1 << 20

_KEYS = "docs/lake.md, Credentials, says where they are looked for"
# What a store says -> how to fix it.
_FIXES = {
    "RequestTimeTooSkewed": "set the clock of this machine (timedatectl): the store refuses what is signed at another time",
    "InvalidAccessKeyId": f"give another key: {_KEYS}",
    "SignatureDoesNotMatch": f"give the right secret of this key: {_KEYS}",
    "ExpiredToken": "renew the credentials",
    "AccessDenied": "allow PutObject, GetObject and ListBucket on this bucket and folder",
    "NoSuchBucket": "make the bucket, or name another",
}


class Bucket(Store):
    def __init__(self, scheme: str, place: str) -> None:
        try:
            import obstore
            from obstore.store import from_url
        except ImportError:
            raise MissingPackageError("a lake in a bucket needs the package obstore", "pip install 'libtracer[lake]'") from None
        self._obstore = obstore
        self._url = f"{scheme}://{place}"
        self._stores: dict[int, Any] = {}
        # An address is without TLS only where the user's own endpoint is.
        client: dict[str, Any] = {"connect_timeout": timedelta(seconds=_CONNECT_S), "allow_http": True}
        more = {"credential_provider": _profile()} if scheme == "s3" else {}

        def connect(**timeouts: timedelta) -> Any:
            # Retries are the caller's, who says what happens meanwhile.
            return from_url(self._url, client_options=client | timeouts, retry_config={"max_retries": 0}, **more)  # type: ignore[call-overload]

        self._connect = connect
        try:
            self._store = connect(timeout=timedelta(hours=1), read_timeout=timedelta(seconds=_SILENT_S))
        except (obstore.exceptions.BaseError, ValueError) as error:
            raise InvalidArgumentError(f"{self._url}: {_first_line(error)}", _KEYS) from None

    def _for_bytes(self, count: int) -> Any:
        """With a time limit for so many: while they are sent, nothing is read, and a read timeout would end it."""
        mib = 4
        while mib << 20 < count:
            mib *= 2
        if mib not in self._stores:
            self._stores[mib] = self._connect(timeout=timedelta(seconds=_ANSWER_S + _S_PER_MIB * mib))
        return self._stores[mib]

    def _put_new(self, key: str, view: memoryview) -> Put:
        try:
            with self._explained(f"put {key}"):
                self._obstore.put(self._for_bytes(len(view)), key, view, mode="create")
                return "made"
        except (FileExistsError, LakeError) as error:
            if isinstance(error, LakeError) and error.code != NO_ANSWER:
                raise
            unknown = error if isinstance(error, LakeError) else no_answer(f"{self._url}/{key}: another writer is at it")
        # Taken, in somebody else's hands for now (409), or unknown: what is there says what has happened. Where that is refused,
        # this says why: servers close connections on a refusal, before its cause can be read.
        try:
            done = self._compare(key, view)
        except LakeError as error:
            raise (unknown if error.code == NO_ANSWER else error) from None
        if done is None:
            raise unknown
        return done

    def put(self, key: str, data: bytes) -> None:
        with self._explained(f"put {key}"):
            self._obstore.put(self._for_bytes(len(data)), key, data, use_multipart=False)

    def _read(self, key: str) -> tuple[int, Iterable[memoryview]]:
        try:
            with self._explained(f"get {key}"):
                found = self._obstore.get(self._store, key)
        except FileNotFoundError:
            raise KeyError(key) from None

        def pieces() -> Iterator[memoryview]:
            with self._explained(f"get {key}"):
                for piece in found.stream(_CHUNK_BYTES):
                    yield memoryview(piece)

        return found.meta["size"], pieces()

    def list(self, prefix: str, problems: list[TracerError] | None = None) -> Iterator[tuple[str, float]]:
        with self._explained(f"list {prefix}"):
            for some in self._obstore.list(self._store, prefix.rstrip("/") or None):
                yield from ((each["path"], each["last_modified"].timestamp()) for each in some)

    def delete(self, key: str) -> None:
        try:
            with self._explained(f"delete {key}"):
                self._obstore.delete(self._store, key)
        except FileNotFoundError:
            pass

    def tidy(self, prefix: str) -> None:
        """Uploads that have not ended are no objects."""

    @contextmanager
    def _explained(self, what: str) -> Iterator[None]:
        exceptions = self._obstore.exceptions
        try:
            yield
        except FileNotFoundError as error:
            if "NoSuchBucket" in str(error) or what.startswith(("put", "list")):
                raise self._error(what, error, "404") from None
            raise
        except exceptions.AlreadyExistsError:
            raise FileExistsError(what) from None
        except exceptions.PermissionDeniedError as error:
            raise self._error(what, error, "403") from None
        except exceptions.UnauthenticatedError as error:
            raise self._error(what, error, "401") from None
        except (exceptions.BaseError, OSError, ValueError) as error:
            raise self._error(what, error, "") from None

    def _error(self, what: str, error: Exception, status: str) -> TracerError:
        """By what the text says: obstore has no fields for it."""
        text = str(error)
        found = re.search(r"status code: (\d{3})|\bstatus: (\d{3})", text)
        status = status or (found and (found[1] or found[2])) or ""
        said = re.search(r"<Code>(\w+)</Code>(?:.*?<Message>([^<]*)</Message>)?", text, re.DOTALL)
        certificate = re.search(r"InvalidCertificate\(\s*(\w+)", text)
        causes = re.findall(r'(?:message|error): "([^"]+)"', text)
        fix = _FIXES.get(said[1], "") if said else ""
        if said:
            cause = f"{status} {said[1]}: {(said[2] or '').partition(chr(10))[0]}".rstrip(": ")
        elif certificate:
            cause = f"its certificate is not accepted: {certificate[1]}"
            fix = ("name the file of its CA's certificate in SSL_CERT_FILE" if certificate[1].startswith("Unknown") else
                   "compare the certificate's dates and names with this machine's clock and the endpoint")
        else:
            cause = causes[-1] if causes and not status else _first_line(error)
        if "TimedOut" in text and not said:
            cause = "no answer in time"
        sentence = f"can't {what.replace(' ', f' {self._url}/', 1)}: {cause}"
        no = status.startswith("4") and status not in ("408", "409", "429")
        return refused(sentence, fix) if no else no_answer(sentence, fix)


def options_of(url: str) -> dict[str, str]:
    """What deltalake is to be told, so that it does as a Bucket."""
    profile = _profile() if url.startswith("s3://") else None
    keys = profile() if profile else {}
    names = {"access_key_id": "aws_access_key_id", "secret_access_key": "aws_secret_access_key", "token": "aws_session_token"}
    return {"allow_http": "true"} | {to: keys[name] for name, to in names.items() if keys.get(name)}


def _profile() -> Any:
    """boto3's credentials where only it knows them: profiles in ~/.aws."""
    folder = os.path.expanduser("~/.aws")
    if "AWS_ACCESS_KEY_ID" in os.environ or not ("AWS_PROFILE" in os.environ or os.path.isdir(folder)):
        return None
    try:
        from obstore.auth.boto3 import Boto3CredentialProvider

        return Boto3CredentialProvider()
    except ImportError:
        if "AWS_PROFILE" in os.environ:
            raise MissingPackageError("AWS_PROFILE needs the package boto3", "pip install 'libtracer[lake,aws]'") from None
    except Exception as error:
        if "AWS_PROFILE" in os.environ:
            raise InvalidArgumentError(f"AWS_PROFILE: {error}", _KEYS) from None
    return None


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0][:300]
