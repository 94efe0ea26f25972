"""What `pickupbox listen` remembers from one start to the next: its secret, and where it stopped.

There is one secret for whoever sits at this machine: it signs what goes to a server of theirs and nothing else, and a
demo that begins anew should not change it. A place belongs to a tenant and to where its events are forwarded. The
public API names no tenants and the keys of a demo change, so a tenant is known by its boxes: no two have one in common.
"""

import fcntl
import hashlib
import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pickupbox.desk import DeskError
from pickupbox.webhooks.signing import KEY_BYTES, key_of, new_secret

KEPT_DAYS = 60  # a place is of no use when its event is no longer kept


def folder_of(variables: Mapping[str, str]) -> Path:
    """Where it is kept; made if it is missing, for nobody else to look into."""
    state = Path(variables.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    folder = state / "pickupbox" / "listen"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def secret_in(folder: Path) -> str:
    """The secret that is kept there, made at the first call."""
    path = folder / "secret"
    if not path.exists():
        made = folder / f"secret_{os.getpid()}"
        _write(made, new_secret(os.urandom(KEY_BYTES)) + "\n")
        with suppress(FileExistsError):  # of two that begin together, one is first
            path.hardlink_to(made)
        made.unlink()
    path.chmod(0o600)
    secret = path.read_text().strip()
    try:
        key_of(secret)
    except ValueError:
        raise DeskError(f"{path} holds no webhook secret. Remove the file: a new secret is made then.", 2) from None
    return secret


@dataclass
class Place:
    """Where forwarding the events of a tenant to `target` stopped; `after` is None before its first event."""

    path: Path
    target: str
    boxes: set[str] = field(default_factory=set)
    after: str | None = None
    known: bool = False  # whether it was kept by an earlier run

    def keep(self, after: str | None, box_id: str) -> None:
        self.boxes.add(box_id)
        self.after = after
        self.write()

    def write(self) -> None:
        """Under another name first: whenever we are killed, there is a whole file."""
        kept = {"target": self.target, "boxes": sorted(self.boxes), "after": self.after}
        written = self.path.with_suffix(".new")
        _write(written, json.dumps(kept))
        written.replace(self.path)


def place_in(folder: Path, target: str, boxes: Iterable[str]) -> Place:
    """Where the tenant with these boxes stopped, or a new place. Those that are too old are removed."""
    own = set(boxes)
    oldest = time.time() - KEPT_DAYS * 86400
    for path in sorted(folder.glob("place_*.json")):
        kept = _read(path)
        if kept is None or path.stat().st_mtime < oldest:
            path.unlink(missing_ok=True)
            path.with_suffix(".lock").unlink(missing_ok=True)
        elif kept["target"] == target and own & set(kept["boxes"]):
            return Place(path, target, own | set(kept["boxes"]), kept["after"], known=True)
    name = hashlib.sha256("\n".join([target, *sorted(own)]).encode()).hexdigest()[:16]
    return Place(folder / f"place_{name}.json", target, own)


def _write(path: Path, text: str) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)


def _read(path: Path) -> dict[str, Any] | None:
    try:
        kept = json.loads(path.read_text())
        return {"target": str(kept["target"]), "boxes": list(kept["boxes"]), "after": kept["after"]}
    except (OSError, ValueError, LookupError, TypeError):
        return None


@contextmanager
def alone_at(place: Place) -> Iterator[None]:
    """Two that forward the same would keep each other's place; the second is refused."""
    with place.path.with_suffix(".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            what = f"forwards this tenant's events to {place.target}" if place.target else "prints this tenant's events"
            raise DeskError(f"Another `pickupbox listen` already {what}. End that one first.") from None
        yield
