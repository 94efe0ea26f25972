"""People of a tenant, their sessions, links that work once, and mail to send."""

from alembic import op

revision = "0007"
down_revision = "0006"

USERS = """
-- An e-mail is one person's in the whole deployment, and a person is one tenant's. Who was removed stays as a row: the
-- audit trail names people by their id. Over all rows, and not only those who are there: see devices_live.
-- factor_sealed holds the secret of the second factor and what is kept of the recovery codes; until factor_since is set
-- it was shown and not yet confirmed. factor_step is the last time step whose code was used: a code works once.
CREATE TABLE users (
    tenant_id text COLLATE "C" NOT NULL REFERENCES tenants,
    id text COLLATE "C" NOT NULL UNIQUE,
    email text COLLATE "C" NOT NULL CHECK (email = lower(email) AND char_length(email) BETWEEN 3 AND 254),
    name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 100),
    role text NOT NULL CHECK (role IN ('owner', 'administrator', 'operator', 'viewer')),
    locale text CHECK (locale IN ('en', 'de')),
    password_hash text,
    factor_secret_id text,
    factor_sealed bytea,
    factor_since timestamptz,
    factor_step bigint NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT now(),
    seen_at timestamptz,
    removed_at timestamptz,
    PRIMARY KEY (tenant_id, id),
    CHECK ((factor_sealed IS NULL) = (factor_secret_id IS NULL)),
    CHECK (factor_since IS NULL OR factor_sealed IS NOT NULL)
) WITH (fillfactor = 70);
CREATE UNIQUE INDEX users_email ON users (email, coalesce(removed_at, 'infinity'));
"""

SESSIONS = """
-- Of the token in the cookie only a hash is kept. `way` is how the person came in: by password, or by the firm's
-- provider.
CREATE TABLE sessions (
    hash bytea PRIMARY KEY,
    tenant_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    way text NOT NULL CHECK (way IN ('password', 'provider')),
    begun_at timestamptz NOT NULL DEFAULT now(),
    seen_at timestamptz NOT NULL DEFAULT now(),
    stepped_up_at timestamptz,
    address text CHECK (char_length(address) <= 64),
    agent text CHECK (char_length(agent) <= 400),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id)
) WITH (fillfactor = 70);
CREATE INDEX sessions_user ON sessions (tenant_id, user_id);
CREATE INDEX sessions_begun ON sessions (begun_at);

-- A sign-in under way, known by the hash of a cookie of its own: user_id once the password was right and the second
-- factor is to come; the provider's three words while the person is there. session_hash: not a sign-in but a step-up.
CREATE TABLE sign_ins (
    hash bytea PRIMARY KEY,
    tenant_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C",
    domain text COLLATE "C",
    state text,
    nonce text,
    verifier text,
    session_hash bytea,
    next text NOT NULL,
    begun_at timestamptz NOT NULL DEFAULT now(),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id)
);
CREATE INDEX sign_ins_begun ON sign_ins (begun_at);

-- How often something was tried in vain, by the hash of what was tried: an e-mail, an address, a second factor.
CREATE TABLE sign_in_attempts (
    hash bytea PRIMARY KEY,
    failures integer NOT NULL,
    closed_until timestamptz NOT NULL,
    last_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 70);
CREATE INDEX sign_in_attempts_last ON sign_in_attempts (last_at);
"""

LINKS = """
-- Links that work once: only a hash of what is in them is kept, and the row goes when one is used.
CREATE TABLE links (
    hash bytea PRIMARY KEY,
    tenant_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    purpose text NOT NULL CHECK (purpose IN ('invitation', 'reset')),
    made_at timestamptz NOT NULL DEFAULT now(),
    until timestamptz NOT NULL,
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id)
);
CREATE INDEX links_user ON links (tenant_id, user_id);
CREATE INDEX links_until ON links (until);
"""

MAILS = """
-- Mail to send, written in the commit of what it tells. A text may hold a link, so it is sealed, and goes when the mail
-- is sent or given up: then due_at is null.
CREATE TABLE mails (
    tenant_id text COLLATE "C" NOT NULL REFERENCES tenants,
    id text COLLATE "C" PRIMARY KEY,
    kind text NOT NULL,
    recipient text NOT NULL,
    subject text NOT NULL,
    text_secret_id text,
    text_sealed bytea,
    created_at timestamptz NOT NULL DEFAULT now(),
    due_at timestamptz DEFAULT now(),
    attempts integer NOT NULL DEFAULT 0,
    sent_at timestamptz,
    problem text,
    CHECK ((text_sealed IS NULL) = (text_secret_id IS NULL)),
    CHECK ((due_at IS NULL) = (text_sealed IS NULL))
) WITH (fillfactor = 70);
CREATE INDEX mails_due ON mails (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX mails_created ON mails (created_at);
"""

IDENTITY_PROVIDERS = """
-- A firm's own OpenID Connect provider, for the e-mails of one domain.
CREATE TABLE identity_providers (
    tenant_id text COLLATE "C" NOT NULL REFERENCES tenants,
    domain text COLLATE "C" NOT NULL UNIQUE CHECK (domain = lower(domain) AND char_length(domain) BETWEEN 3 AND 253),
    issuer text NOT NULL CHECK (char_length(issuer) BETWEEN 8 AND 500),
    client_id text NOT NULL CHECK (char_length(client_id) BETWEEN 1 AND 500),
    client_secret_id text NOT NULL,
    client_secret_sealed bytea NOT NULL,
    only_way boolean NOT NULL DEFAULT false,
    changed_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, domain)
);
"""


def upgrade() -> None:
    for statements in (USERS, SESSIONS, LINKS, MAILS, IDENTITY_PROVIDERS):
        op.execute(statements)
