"""Devices on the command line: enroll, list, revoke, and the authority that signs."""

import asyncio
import json
from datetime import UTC, datetime

import asyncpg
from click.testing import Result
from cryptography import x509
from typer.testing import CliRunner

from pickupbox.certificates import new_authority, read_authority
from pickupbox.cli import app as commands
from pickupbox.settings import Settings
from tests.support.databases import environment_of

SETTING = new_authority("Test devices", datetime.now(UTC))


def run(settings: Settings, *arguments: str, authority: str | None = SETTING) -> Result:
    values = environment_of(settings) | {"COLUMNS": "250", "PICKUPBOX_DEVICE_AUTHORITY": authority}
    return CliRunner().invoke(commands, ["box", *arguments], env=values)


async def hear(settings: Settings, device: str) -> None:
    connection = await asyncpg.connect(settings.database_url)
    await connection.execute("UPDATE devices SET last_seen_at = now(), online = true WHERE id = $1", device)
    await connection.close()


def test_an_administrator_enrolls_lists_and_revokes(settings: Settings) -> None:
    tenant = CliRunner().invoke(commands, ["tenant", "add", "Shop"], env=environment_of(settings)).stdout.split()[0]
    box = run(settings, "add", "Box", "--tenant", tenant).stdout.strip()
    made = run(settings, "enroll", box, "--tenant", tenant, "--json")
    assert made.exit_code == 0, made.output
    said = json.loads(made.stdout)
    assert said.keys() == {"device", "code"}
    shown = run(settings, "devices", "--tenant", tenant).stdout
    assert said["device"] in shown
    assert "waits for its code" in shown
    assert said["code"] not in shown
    assert run(settings, "revoke", said["device"], "--tenant", "ten_other").exit_code == 1
    asyncio.run(hear(settings, said["device"]))
    assert "online" in run(settings, "devices", "--tenant", tenant).stdout
    assert run(settings, "revoke", said["device"], "--tenant", tenant, "--operator", "Ada").exit_code == 0
    assert "revoked" in run(settings, "devices", "--tenant", tenant).stdout
    assert run(settings, "enroll", "box_nowhere", "--tenant", tenant).exit_code == 1
    assert x509.load_pem_x509_crl(run(settings, "revocations").stdout.encode()).is_signature_valid(
        read_authority(SETTING).certificate.public_key()
    )


def test_without_a_signing_key_the_commands_say_what_to_do(settings: Settings) -> None:
    for arguments in (("enroll", "box_1", "--tenant", "ten_1"), ("revocations",), ("authority", "show")):
        refused = run(settings, *arguments, authority=None)
        assert refused.exit_code == 1
        assert "pickupbox box authority new" in refused.stderr
        assert "PICKUPBOX_DEVICE_AUTHORITY" in refused.stderr


def test_a_new_authority_is_what_the_settings_take(settings: Settings) -> None:
    setting = run(settings, "authority", "new", authority=None).stdout
    assert setting.count("\n") == 1
    shown = run(settings, "authority", "show", authority=setting.strip()).stdout
    assert x509.load_pem_x509_certificate(shown.encode()) == read_authority(setting.strip()).certificate
    assert "PRIVATE" not in shown
