"""Who may do what in the administration: one table, from act to roles. What is not in it, nobody may."""

from enum import StrEnum


class Role(StrEnum):
    OWNER = "owner"
    ADMINISTRATOR = "administrator"
    OPERATOR = "operator"
    VIEWER = "viewer"


class Act(StrEnum):
    OWN_ACCOUNT = "own_account"  # one's own password, second factor, language
    SEE_OVERVIEW = "see_overview"
    SEE_BOXES = "see_boxes"
    SEE_SHIPMENTS = "see_shipments"
    SERVE_DOORS = "serve_doors"  # put a door in or out of service
    CANCEL = "cancel"
    RETRY = "retry"
    DECLARE_FAULT = "declare_fault"
    REVEAL_PIN = "reveal_pin"
    REMOVE = "remove"  # open a held compartment and confirm that it is empty
    RELEASE_IN_EMERGENCY = "release_in_emergency"
    SIMULATE = "simulate"  # the sandbox's events
    SET_UP_BOXES = "set_up_boxes"  # add, settings, enrolment
    SEE_INTEGRATIONS = "see_integrations"  # keys, endpoints, deliveries, requests
    MANAGE_KEYS = "manage_keys"
    MANAGE_ENDPOINTS = "manage_endpoints"
    REPLAY = "replay"
    SEE_AUDIT = "see_audit"
    SEE_TEAM = "see_team"
    MANAGE_TEAM = "manage_team"  # invite, change roles, remove; only an owner makes or unmakes owners
    MANAGE_IDENTITY = "manage_identity"  # the firm's own OpenID Connect provider


_EVERYONE = frozenset(Role)
_HANDS = frozenset({Role.OWNER, Role.ADMINISTRATOR, Role.OPERATOR})
_OFFICE = frozenset({Role.OWNER, Role.ADMINISTRATOR})

ALLOWED: dict[Act, frozenset[Role]] = {
    Act.OWN_ACCOUNT: _EVERYONE,
    Act.SEE_OVERVIEW: _EVERYONE,
    Act.SEE_BOXES: _EVERYONE,
    Act.SEE_SHIPMENTS: _EVERYONE,
    Act.SERVE_DOORS: _HANDS,
    Act.CANCEL: _HANDS,
    Act.RETRY: _HANDS,
    Act.DECLARE_FAULT: _HANDS,
    Act.REVEAL_PIN: _HANDS,
    Act.REMOVE: _HANDS,
    Act.RELEASE_IN_EMERGENCY: _HANDS,
    Act.SIMULATE: _HANDS,
    Act.SET_UP_BOXES: _OFFICE,
    Act.SEE_INTEGRATIONS: _OFFICE,
    Act.MANAGE_KEYS: _OFFICE,
    Act.MANAGE_ENDPOINTS: _OFFICE,
    Act.REPLAY: _OFFICE,
    Act.SEE_AUDIT: _OFFICE,
    Act.SEE_TEAM: _OFFICE,
    Act.MANAGE_TEAM: _OFFICE,
    Act.MANAGE_IDENTITY: frozenset({Role.OWNER}),
}


def may(role: Role, act: Act) -> bool:
    return role in ALLOWED.get(act, frozenset())


def may_change(actor: Role, before: Role | None, after: Role | None) -> bool:
    """Whether someone of that role may make a person `after` who was `before`; None is nobody yet, or no longer."""
    return may(actor, Act.MANAGE_TEAM) and (actor is Role.OWNER or Role.OWNER not in (before, after))
