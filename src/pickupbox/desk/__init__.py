"""The desk of a shop's developer: follow a sandbox, make events happen, find out why a signature does not hold."""


class DeskError(Exception):
    """It cannot be done; the text says why and what to do. `code` is the exit code: 2 for what was given wrongly."""

    def __init__(self, text: str, code: int = 1) -> None:
        super().__init__(text)
        self.code = code
