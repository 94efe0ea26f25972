"""A line for the next page: it travels in a cookie of our own making, is shown once, and is gone."""

import base64
import binascii

from starlette.responses import Response

from pickupbox.vault import Vault

NOTICE = "__Host-notice"
SECONDS = 60


class Notices:
    def __init__(self, vault: Vault) -> None:
        self._vault = vault

    def leave(self, response: Response, notice: str) -> None:
        text = base64.urlsafe_b64encode(notice[:500].encode()).decode()
        value = f"{text}.{self._vault.page_token(text.encode())}"
        response.set_cookie(NOTICE, value, max_age=SECONDS, path="/", secure=True, httponly=True, samesite="lax")

    def read(self, cookie: str) -> str:
        text, _, token = cookie.partition(".")
        if not text or not self._vault.is_page_token(text.encode(), token):
            return ""
        try:
            return base64.urlsafe_b64decode(text).decode()
        except (binascii.Error, UnicodeDecodeError):
            return ""

    def drop(self, response: Response) -> None:
        response.delete_cookie(NOTICE, path="/", secure=True, httponly=True, samesite="lax")
