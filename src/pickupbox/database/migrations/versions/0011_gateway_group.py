"""Under which name the gateways of this deployment share what boxes say."""

from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    # Null: no gateway of this version has run yet. The first one writes down the name that those before it used, so
    # that both share the messages, and a rotation of the secrets changes it no more.
    op.execute("ALTER TABLE deployment ADD COLUMN gateway_group text CHECK (gateway_group <> '')")
