"""Which doors a box's last heartbeat called open; by which subject a provider knows a person."""

from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    # Null: no heartbeat that told them yet.
    op.execute("ALTER TABLE devices ADD COLUMN open_doors text[]")
    # Of the first sign-in by that provider: an address that is given to somebody else there does not give the account.
    op.execute(
        """
        ALTER TABLE users ADD COLUMN provider_issuer text, ADD COLUMN provider_subject text COLLATE "C"
            CHECK (char_length(provider_subject) <= 255),
            ADD CONSTRAINT users_provider CHECK ((provider_issuer IS NULL) = (provider_subject IS NULL))
        """
    )
