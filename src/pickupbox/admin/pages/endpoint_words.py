"""What may be wrong with an endpoint, collected for translation: it is said where webhooks are checked."""

from pickupbox.admin.words import _


def objections() -> tuple[str, ...]:
    return (
        _("The URL is longer than 2048 characters: use a shorter one."),
        _("The URL has characters outside ASCII: write the host in its xn-- form and the rest percent-encoded."),
        _("The URL is empty or has a space, a control character or a backslash: remove or percent-encode it."),
        _("The URL has a fragment: remove it, from the # on."),
        _("The URL must begin with https://."),
        _("The URL has no host: write it as https://host/path."),
        _("The URL has a user name or password: remove it, deliveries are signed."),
        _("The URL's port is not valid: use one between 1 and 65535, or none."),
        _("The URL's host ends with a dot: write it without."),
        _("The URL's host is a name of a private network: use one that the public internet knows."),
        _("The URL's host is not a valid name: use letters, digits, hyphens and dots."),
        _("The URL's host has an xn-- part that stands for no proper name: write the host as it is registered."),
        _("The URL's host is a number but not a plain IP address: use a name, or the address in its usual form."),
        _("The URL's address is not one of the public internet: use a public name or address."),
        _("The URL cannot be read: write it as https://host/path, with a port between 1 and 65535 if it needs one."),
        _("There is no such tenant, or it has 5 endpoints already: remove one first."),
    )
