"""The cookies by which a browser is known again: of a session, and of a sign-in under way."""

from starlette.responses import Response

from pickupbox.admin.admission import SESSION

SIGN_IN_UNDER_WAY = "__Host-sign-in"
MINUTES = 10


def keep(response: Response, name: str, token: str, seconds: int | None = None) -> Response:
    """Lax, so that a link in a mail and the way back from a provider find it; __Host-, so that no neighbour sets it."""
    response.set_cookie(name, token, max_age=seconds, path="/", secure=True, httponly=True, samesite="lax")
    return response


def drop(response: Response, name: str) -> Response:
    response.delete_cookie(name, path="/", secure=True, httponly=True, samesite="lax")
    return response


def keep_session(response: Response, token: str) -> Response:
    return drop(keep(response, SESSION, token), SIGN_IN_UNDER_WAY)


def keep_sign_in(response: Response, token: str) -> Response:
    return keep(response, SIGN_IN_UNDER_WAY, token, MINUTES * 60)
