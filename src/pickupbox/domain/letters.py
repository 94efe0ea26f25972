"""What people are told by mail, in each language: plain text, which every mail program shows."""

from enum import StrEnum


class Letter(StrEnum):
    INVITATION = "invitation"
    RESET = "reset"
    PASSWORD_CHANGED = "password_changed"  # noqa: S105 - the name of a letter
    SECOND_FACTOR_REMOVED = "second_factor_removed"


LETTERS: dict[tuple[Letter, str], tuple[str, str]] = {
    (Letter.INVITATION, "en"): (
        "You are invited to {tenant} on Pickupbox",
        """Hello {name},

you have been invited to the team of {tenant} on Pickupbox. Choose a password here:

{link}

The link works once, for 7 days. If you expected no invitation, do nothing.
""",
    ),
    (Letter.INVITATION, "de"): (
        "Einladung zu {tenant} bei Pickupbox",
        """Guten Tag {name},

Sie sind in das Team von {tenant} bei Pickupbox eingeladen. Wählen Sie hier ein Passwort:

{link}

Der Link gilt einmal, 7 Tage lang. Haben Sie keine Einladung erwartet, brauchen Sie nichts zu tun.
""",
    ),
    (Letter.RESET, "en"): (
        "A new password for Pickupbox",
        """Hello {name},

someone, probably you, asked for a new password for {email}. Choose it here:

{link}

The link works once, for one hour. If it was not you, do nothing: your password stays as it is.
""",
    ),
    (Letter.RESET, "de"): (
        "Ein neues Passwort für Pickupbox",
        """Guten Tag {name},

jemand, vermutlich Sie, hat ein neues Passwort für {email} angefordert. Wählen Sie es hier:

{link}

Der Link gilt einmal, eine Stunde lang. Waren Sie es nicht, brauchen Sie nichts zu tun: Ihr Passwort bleibt, wie es ist.
""",
    ),
    (Letter.PASSWORD_CHANGED, "en"): (
        "Your password for Pickupbox was changed",
        """Hello {name},

the password of {email} was just changed, and your other sessions have ended. If it was not you, set a new one at once:

{link}
""",
    ),
    (Letter.PASSWORD_CHANGED, "de"): (
        "Ihr Passwort für Pickupbox wurde geändert",
        """Guten Tag {name},

das Passwort von {email} wurde soeben geändert, und Ihre anderen Sitzungen sind beendet. Waren Sie es nicht, setzen Sie
sofort ein neues:

{link}
""",
    ),
    (Letter.SECOND_FACTOR_REMOVED, "en"): (
        "Your second factor for Pickupbox was removed",
        """Hello {name},

the second factor of {email} was just removed. If it was not you, set a new password at once:

{link}
""",
    ),
    (Letter.SECOND_FACTOR_REMOVED, "de"): (
        "Ihr zweiter Faktor für Pickupbox wurde entfernt",
        """Guten Tag {name},

der zweite Faktor von {email} wurde soeben entfernt. Waren Sie es nicht, setzen Sie sofort ein neues Passwort:

{link}
""",
    ),
}


def written(letter: Letter, locale: str | None, **values: str) -> tuple[str, str]:
    """Subject and text; in English for those whose language is not known."""
    subject, text = LETTERS.get((letter, locale or "en")) or LETTERS[letter, "en"]
    return subject.format(**values), text.format(**values)
