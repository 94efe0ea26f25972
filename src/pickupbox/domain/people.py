"""People: what an e-mail, a name and a password must be, how long to wait after failures, and what is refused."""

import re

from pickupbox.domain.errors import Conflict, NotFound, Refusal
from pickupbox.domain.roles import Role

PASSWORD_SHORTEST = 12
PASSWORD_LONGEST = 128
NAME_LONGEST = 100
EMAIL_LONGEST = 254
LOCALES = ("en", "de")
NEEDS_SECOND_FACTOR = frozenset({Role.OWNER, Role.ADMINISTRATOR})

FREE_FAILURES = 5  # of one person, or of one second factor
FREE_FAILURES_OF_AN_ADDRESS = 20  # a whole office may stand behind it
FIRST_WAIT = 5
LONGEST_WAIT = 15 * 60

_EMAIL = re.compile(r"[a-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9-]*[a-z0-9])+")


class InvalidEmail(Conflict):
    """This is not an e-mail address that we could write to.

    Write it as name@firm.example, in plain letters.
    """

    code = "invalid_email"


class InvalidName(Conflict):
    """A person's name has 1 to 100 characters.

    Write the name that colleagues know.
    """

    code = "invalid_name"


class InvalidPassword(Conflict):
    """A password has 12 to 128 characters.

    Take four or five words that have nothing to do with each other, or what a password manager offers.
    """

    code = "invalid_password"


class EmailTaken(Conflict):
    """Someone with this e-mail address is here already.

    Use another address, or ask that person's team to remove them first.
    """

    code = "email_taken"


class PersonNotFound(NotFound):
    """There is no such person in the team.

    Look at the team's list: the person may have been removed.
    """

    code = "person_not_found"


class LastOwner(Conflict):
    """A team always has an owner, and this is the last one.

    Make someone else an owner first.
    """

    code = "last_owner"


class RoleNotYours(Conflict):
    """Only an owner makes or unmakes owners.

    Ask one of the team's owners.
    """

    code = "role_not_yours"


class TeamFull(Conflict):
    """A team has at most 500 people.

    Remove someone who no longer works here.
    """

    code = "team_full"


class LinkNotValid(NotFound):
    """This link was used already, or its time is over.

    Ask for a new one: under "Forgot password?", or the person who invited you.
    """

    code = "link_not_valid"


class SignInRefused(Refusal):
    """E-mail address and password do not belong together.

    Try again, or set a new password under "Forgot password?".
    """

    code = "sign_in_refused"


class CodeRefused(Refusal):
    """The code is not right, or it was used already.

    Wait for the next code of your app, or use one of your recovery codes.
    """

    code = "code_refused"


class TooManyAttempts(Refusal):
    """Too many attempts in a row.

    Wait a little, then try again.
    """

    code = "too_many_attempts"


class SignInOver(Conflict):
    """This sign-in took too long, or was finished already.

    Begin again with your e-mail address.
    """

    code = "sign_in_over"


class OnlyByProvider(Conflict):
    """Your firm lets people in by its own sign-in only.

    Enter your e-mail address on the sign-in page; the rest follows.
    """

    code = "only_by_provider"


class ProviderRefused(Conflict):
    """Your firm's sign-in did not let you in here.

    Ask your team to invite the e-mail address that your firm knows you by.
    """

    code = "provider_refused"


class ProviderKnowsAnother(Conflict):
    """Your firm's sign-in knows somebody else by this e-mail address than it did before.

    Ask your team to remove the old account here and to invite you anew.
    """

    code = "provider_knows_another"


class ProviderAway(Refusal):
    """Your firm's sign-in does not answer as it should.

    Try again in a minute; if it stays, have the team's owner look at its settings.
    """

    code = "provider_away"


class InvalidProvider(Conflict):
    """These settings of a provider cannot be used.

    The issuer is an https address, the domain is that of your own e-mail address, and no other team has it.
    """

    code = "invalid_provider"


def email_of(text: str) -> str:
    """The address as it is kept and compared: in small letters."""
    email = text.strip().lower()
    if len(email) > EMAIL_LONGEST or not _EMAIL.fullmatch(email):
        raise InvalidEmail
    return email


def domain_of(email: str) -> str:
    return email.rpartition("@")[2]


def name_of(text: str) -> str:
    name = " ".join(text.split())
    if not 1 <= len(name) <= NAME_LONGEST or not name.isprintable():
        raise InvalidName
    return name


def checked_password(password: str) -> str:
    if not PASSWORD_SHORTEST <= len(password) <= PASSWORD_LONGEST:
        raise InvalidPassword
    return password


def seconds_closed(failures: int, free: int) -> int:
    """How long nobody may try again after so many failures in a row: 5 s, 10 s, 20 s … 15 minutes."""
    return 0 if failures < free else min(FIRST_WAIT * 2 ** min(failures - free, 20), LONGEST_WAIT)
