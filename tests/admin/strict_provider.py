"""`python -m tests.admin.strict_provider --port N`: the mock provider, which by itself lets PKCE pass unread, with the
check that Authlib has for it. A code is asked for with a challenge, and is worth nothing without its verifier."""

from typing import Any

from authlib.oauth2.rfc6749 import AuthorizationCodeGrant, AuthorizationServer
from authlib.oauth2.rfc6749.errors import InvalidRequestError
from authlib.oauth2.rfc7636 import CodeChallenge


class Insisting(CodeChallenge):  # type: ignore[misc] # it has no types
    def __init__(self) -> None:
        super().__init__(required=True)
        self._challenges: dict[str, str] = {}  # by the nonce, which the mock keeps with the code

    def validate_code_challenge(self, grant: Any, redirect_uri: str) -> None:
        super().validate_code_challenge(grant, redirect_uri)
        asked = grant.request.payload.data
        if asked.get("code_challenge_method") != "S256" or not asked.get("code_challenge"):
            raise InvalidRequestError("a code is asked for with a challenge")
        self._challenges[asked["nonce"]] = asked["code_challenge"]

    def get_authorization_code_challenge(self, authorization_code: Any) -> str | None:
        return self._challenges.get(authorization_code.nonce)

    def get_authorization_code_challenge_method(self, _: Any) -> str:
        return "S256"


def main() -> None:
    register = AuthorizationServer.register_grant
    insisting = Insisting()

    def strictly(server: Any, grant: Any, extensions: Any = None) -> None:
        more = [insisting] if issubclass(grant, AuthorizationCodeGrant) else []
        register(server, grant, [*(extensions or []), *more])

    AuthorizationServer.register_grant = strictly
    from oidc_provider_mock.__main__ import run  # it registers what it grants

    run()


if __name__ == "__main__":
    main()
