"""Every statement about people finds its rows by an index, however many people and sessions there are."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from pickupbox.database import identity_providers, links, mails, sessions, sign_ins, users
from pickupbox.database.connection import Connection
from pickupbox.database.sign_ins import SignIn
from pickupbox.domain.roles import Role
from pickupbox.usecases.core import Core
from pickupbox.usecases.team import add_user
from tests.database.plans import assert_only_indexes, databases, listening, plan_of
from tests.support.shop import Shop

GROW = """
    INSERT INTO tenants (id, name) SELECT 'ten_' || n, 'Shop' FROM generate_series(1, 500) AS n;
    INSERT INTO users (tenant_id, id, email, name, role) SELECT 'ten_' || n % 500 + 1, 'usr_' || n, n || '@a.test', 'A',
        'viewer' FROM generate_series(1, 10000) AS n;
    INSERT INTO sessions (hash, tenant_id, user_id, id, way) SELECT sha256(n::text::bytea), 'ten_' || n % 500 + 1,
        'usr_' || n, 'ses_' || n, 'password' FROM generate_series(1, 10000) AS n;
    INSERT INTO links (hash, tenant_id, user_id, purpose, until) SELECT sha256(n::text::bytea), 'ten_' || n % 500 + 1,
        'usr_' || n, 'reset', now() FROM generate_series(1, 10000) AS n;
    INSERT INTO sign_in_attempts SELECT sha256(n::text::bytea), 1, now() FROM generate_series(1, 10000) AS n;
    INSERT INTO sign_ins (hash, tenant_id, next) SELECT sha256(n::text::bytea), 'ten_1', '/'
        FROM generate_series(1, 10000) AS n;
    INSERT INTO mails (tenant_id, id, kind, recipient, subject, due_at) SELECT 'ten_1', 'mai_' || n, 'reset', 'a', 'b',
        NULL FROM generate_series(1, 10000) AS n;
    INSERT INTO identity_providers SELECT 'ten_' || n, n || '.test', 'https://a', 'c', 'k1', '', false
        FROM generate_series(1, 500) AS n;
    ANALYZE;
"""

type Act = Callable[[Connection, str], Awaitable[Any]]


async def seed(shop: Shop) -> None:
    await add_user(shop.core, shop.tenant, "seed@firm.test", "Seed", Role.OWNER, "a password of some length")


settings, core, app = databases(seed, GROW)

H = b"hash"
ACTS: dict[str, Act] = {
    "who": lambda c, _: sessions.find(c, H),
    "touch": lambda c, t: sessions.touch(c, t, "usr_1", H),
    "step_up": lambda c, t: sessions.step_up(c, t, H),
    "list_sessions": lambda c, t: sessions.list_live(c, t, "usr_1"),
    "end": lambda c, t: sessions.delete(c, t, H),
    "end_one": lambda c, t: sessions.delete_one(c, t, "usr_1", "ses_1"),
    "end_all": lambda c, t: sessions.delete_all(c, t, "usr_1"),
    "forget_sessions": lambda c, _: sessions.forget(c, 1000),
    "find_user": lambda c, t: users.find(c, t, "usr_1"),
    "lock_user": lambda c, t: users.lock(c, t, "usr_1"),
    "find_by_id": lambda c, _: users.find_by_id(c, "usr_1"),
    "find_by_email": lambda c, _: users.find_by_email(c, "1@a.test"),
    "list_team": lambda c, t: users.list_all(c, t),
    "names": lambda c, t: users.names(c, t, ["usr_1"]),
    "lock_team": lambda c, t: users.lock_team(c, t),
    "find_link": lambda c, _: links.find(c, H),
    "use_link": lambda c, _: links.use(c, H),
    "delete_links": lambda c, t: links.delete_all(c, t, "usr_1"),
    "invitations": lambda c, t: links.newest_invitations(c, t),
    "forget_links": lambda c, _: links.forget(c, 1000),
    "claim_mail": lambda c, _: mails.claim(c, 60),
    "settle_mail": lambda c, _: mails.settle(c, "mai_1", None),
    "postpone_mail": lambda c, _: mails.postpone(c, "mai_1", 30, "later"),
    "forget_mail": lambda c, _: mails.forget(c, 30, 1000),
    "find_sign_in": lambda c, _: sign_ins.find(c, H),
    "take_sign_in": lambda c, _: sign_ins.take(c, H),
    "insert_sign_in": lambda c, t: sign_ins.insert(c, t, b"new", SignIn(t, None, "/")),
    "lock_attempts": lambda c, _: sign_ins.lock_attempts(c, [H]),
    "save_attempts": lambda c, _: sign_ins.save_attempts(c, {H: sign_ins.Attempts(1, 0)}),
    "forget_sign_ins": lambda c, _: sign_ins.forget(c, 1000),
    "find_provider": lambda c, t: identity_providers.find(c, t, "1.test"),
    "find_by_domain": lambda c, _: identity_providers.find_by_domain(c, "1.test"),
    "is_only_way": lambda c, t: identity_providers.is_only_way(c, t, "1.test"),
    "list_providers": lambda c, t: identity_providers.list_all(c, t),
}


@pytest.mark.parametrize("name", ACTS)
async def test_a_statement_reads_by_a_bounded_index_only(shop: Shop, core: Core, name: str) -> None:
    async with core.db.transaction() as tx:
        async with listening(tx) as asked:
            await ACTS[name](tx, shop.tenant)
        plans = [await plan_of(tx, query) for query in asked]
    assert plans
    for plan in plans:
        assert_only_indexes(plan)
        nodes = {node["Node Type"] for node in plan if node.get("Relation Name") or node.get("Index Name")}
        assert "Seq Scan" not in nodes
