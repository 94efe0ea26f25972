"""`just docs`: writes what GitHub shows too, then builds the site strictly."""

import sys
import time

from documentation.links import ROOT, DeadLinkError
from documentation.site import SiteError, build
from documentation.written import write


def main() -> None:
    began = time.monotonic()
    for changed in write():
        print(f"{changed} was written anew: commit it")
    try:
        build(ROOT / "out" / "site", ROOT / "out" / "docs")
    except (DeadLinkError, SiteError) as error:
        sys.exit(f"The docs were not built: {error}")
    pages = sum(1 for _ in (ROOT / "out" / "site").rglob("*.html"))
    print(f"{pages} pages in out/site, in {time.monotonic() - began:.1f} s. To look at them:")
    print("python3 -m http.server --bind 127.0.0.1 --directory out/site 8099")


main()
