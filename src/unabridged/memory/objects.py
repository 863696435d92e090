"""What lies in an object store beside the tables: files by their address, through Arrow's file systems."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unabridged.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["file_system", "files_under", "remove_under"]

# The store's own options, as LanceDB takes them, and what Arrow calls them; without them both ask the environment.
_S3 = {
    "access_key_id": "access_key",
    "secret_access_key": "secret_key",
    "session_token": "session_token",
    "region": "region",
    "endpoint": "endpoint_override",
}
_AZURE = {"account_name": "account_name", "account_key": "account_key", "sas_token": "sas_token"}


def file_system(uri: str, options: Mapping[str, str] | None = None) -> tuple[Any, str]:
    """Arrow's file system for an address, and the path in it; ``options`` are the store's."""
    from pyarrow import fs

    scheme, _, rest = uri.partition("://")
    try:
        if options and scheme in {"s3", "s3a"}:
            return fs.S3FileSystem(**_s3(options)), rest
        if options and scheme in {"az", "abfs", "abfss"}:
            return fs.AzureFileSystem(**_named(options, _AZURE, "azure_storage_")), rest
        system, root = fs.FileSystem.from_uri(uri)
    except (ValueError, OSError, TypeError) as error:
        raise StoreError(f"files cannot be kept under this URI: {type(error).__name__}") from None
    return system, str(root)


def _s3(options: Mapping[str, str]) -> dict[str, Any]:
    found = _named(options, _S3, "aws_")
    scheme, mark, host = str(found.get("endpoint_override", "")).rpartition("://")
    return {**found, "scheme": scheme, "endpoint_override": host} if mark else found


def _named(options: Mapping[str, str], names: Mapping[str, str], prefix: str) -> dict[str, Any]:
    plain = {key.casefold().removeprefix(prefix): value for key, value in options.items()}
    plain.setdefault("endpoint", plain.get("endpoint_url", ""))
    return {theirs: plain[ours] for ours, theirs in names.items() if plain.get(ours)}


def files_under(uri: str, options: Mapping[str, str] | None, prefix: str) -> Iterator[bytes]:
    """The bytes of every object whose path under ``uri`` begins with ``prefix``, a folder's name or its beginning."""
    from pyarrow import fs

    system, root = file_system(uri, options)
    tops = system.get_file_info(fs.FileSelector(root, allow_not_found=True))
    for top in (each for each in tops if each.base_name.startswith(prefix)):
        for each in system.get_file_info(fs.FileSelector(top.path, recursive=True, allow_not_found=True)):
            if each.is_file:
                with system.open_input_stream(each.path) as stream:
                    yield stream.read()


def remove_under(uri: str, options: Mapping[str, str] | None) -> None:
    """Remove every object under an address; none need be there."""
    from pyarrow import fs

    system, root = file_system(uri, options)
    if system.get_file_info(root).type != fs.FileType.NotFound:
        system.delete_dir(root)
