"""Settings: read once, frozen, and what is wrong is said without repeating it."""

import pytest
from pydantic import ValidationError

from pickupbox.settings import LOCAL_DATABASE, Settings, database_url, problems
from pickupbox.vault import new_secret

NAMES = [name.upper() for name in Settings.model_fields]


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An environment that says nothing of us."""
    for name in NAMES:
        monkeypatch.delenv(f"PICKUPBOX_{name}", raising=False)
    return monkeypatch


def complete(patch: pytest.MonkeyPatch, /, **values: str) -> None:
    for name, value in {"environment": "sandbox", "secrets": new_secret("k1"), **values}.items():
        patch.setenv(f"PICKUPBOX_{name.upper()}", value)


def complaints() -> list[str]:
    with pytest.raises(ValidationError) as error:
        Settings.model_validate({})
    return problems(error.value)


def test_the_environment_fills_the_settings(environment: pytest.MonkeyPatch) -> None:
    complete(environment, environment="production", cell="eu1", database_url="postgresql://db/x", database_pool="7")
    settings = Settings.model_validate({})
    assert (settings.environment, settings.cell, settings.database_pool) == ("production", "eu1", 7)
    assert settings.database_url == "postgresql://db/x"
    assert [secret.id for secret in settings.vault_secrets()] == ["k1"]


def test_what_is_not_said_has_its_default(environment: pytest.MonkeyPatch) -> None:
    complete(environment)
    settings = Settings.model_validate({})
    assert (settings.database_url, settings.cell) == (LOCAL_DATABASE, "c1")
    assert (settings.rate_limit_url, settings.log_level) == ("memory://", "info")


def test_environment_and_secrets_are_required_and_every_lack_is_named(environment: pytest.MonkeyPatch) -> None:
    named = {line.partition(":")[0] for line in complaints()}
    assert named == {"PICKUPBOX_ENVIRONMENT", "PICKUPBOX_SECRETS"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("environment", "staging-xyzzy"),
        ("cell", "Xyzzy_9"),
        ("cell", "xyzzyxyzzy"),
        ("secrets", "k1:xyzzyxyzzy"),
        ("secrets", "xyzzy"),
        ("rate_limit_url", "http://xyzzy"),
        ("database_pool", "xyzzy"),
        ("database_pool", "99991"),
        ("log_level", "xyzzy"),
        ("smtp_url", "http://xyzzy"),
        ("smtp_url", "xyzzy"),
        ("smtp_url", "smtp://box:xyzzy@host:port"),
        ("smtp_url", "smtp://host/xyzzy"),
        ("admin_url", "http://xyzzy.example"),
        ("admin_url", "https://xyzzy.example/"),
        ("admin_url", "https://box@xyzzy.example"),
        ("mail_from", "xyzzy\nBcc: x@y.z"),
        ("webhook_loopback", "xyzzy"),
        ("webhook_concurrency", "0"),
        ("webhook_concurrency", "99991"),
        ("webhook_schedule", "xyzzy"),
        ("webhook_schedule", ""),
        ("webhook_schedule", "0,"),
        ("webhook_schedule", ",5"),
        ("webhook_schedule", "0,-5"),
        ("webhook_schedule", "0, 5"),
        ("webhook_schedule", "0,1e9"),
        ("webhook_schedule", "0,nan"),
        ("webhook_schedule", "0,inf"),
        ("webhook_schedule", "0,1234567"),
        ("webhook_schedule", "0;5"),
        ("webhook_schedule", "0,5\n"),
        ("webhook_schedule", ",".join(["5"] * 31)),
    ],
)
def test_a_wrong_value_is_refused_by_its_name_and_never_repeated(
    environment: pytest.MonkeyPatch, name: str, value: str
) -> None:
    complete(environment, **{name: value})
    (line,) = complaints()
    assert line.startswith(f"PICKUPBOX_{name.upper()}: ")
    assert len(value) < 5 or value not in line
    assert "xyzzy" not in line.lower()


def test_a_bad_secret_is_not_in_the_error_that_is_raised(environment: pytest.MonkeyPatch) -> None:
    """Whoever logs the error as it is must not log the secret."""
    secret = new_secret("k1").removesuffix("=")
    complete(environment, secrets=secret)
    with pytest.raises(ValidationError) as error:
        Settings.model_validate({})
    assert secret not in str(error.value)
    assert secret[3:20] not in repr(error.value)


def test_no_picture_of_the_settings_shows_a_secret(environment: pytest.MonkeyPatch) -> None:
    secret = new_secret("k1")
    complete(environment, secrets=secret)
    settings = Settings.model_validate({})
    assert settings.secrets.get_secret_value() == secret
    for shown in (repr(settings), str(settings), settings.model_dump_json()):
        assert secret[3:] not in shown


def test_no_picture_of_the_settings_shows_the_mail_servers_password(environment: pytest.MonkeyPatch) -> None:
    complete(environment, smtp_url="smtps://box:xyzzy@mail.example:465")
    settings = Settings.model_validate({})
    for shown in (repr(settings), str(settings), settings.model_dump_json()):
        assert "xyzzy" not in shown
    assert settings.variables()["PICKUPBOX_SMTP_URL"] == "smtps://box:xyzzy@mail.example:465"


def test_settings_do_not_change(environment: pytest.MonkeyPatch) -> None:
    complete(environment)
    settings = Settings.model_validate({})
    with pytest.raises(ValidationError):
        settings.cell = "c2"  # type: ignore[misc]


def test_where_postgresql_is_can_be_read_while_the_rest_is_missing(environment: pytest.MonkeyPatch) -> None:
    assert database_url() == LOCAL_DATABASE
    environment.setenv("PICKUPBOX_DATABASE_URL", "postgresql://elsewhere/x")
    assert database_url() == "postgresql://elsewhere/x"


def test_webhooks_to_this_machine_are_for_a_sandbox_alone(environment: pytest.MonkeyPatch) -> None:
    complete(environment, webhook_loopback="true")
    assert Settings.model_validate({}).webhook_loopback
    complete(environment, webhook_loopback="true", environment="production")
    (line,) = complaints()
    assert "PICKUPBOX_WEBHOOK_LOOPBACK is for a sandbox" in line
    complete(environment, webhook_loopback="false", environment="production")
    assert not Settings.model_validate({}).webhook_loopback


def test_the_schedule_of_webhooks_is_read_in_seconds(environment: pytest.MonkeyPatch) -> None:
    complete(environment)
    assert len(Settings.model_validate({}).webhook_delays()) == 10
    complete(environment, webhook_schedule="0,0.25,86400")
    assert Settings.model_validate({}).webhook_delays() == (0, 0.25, 86400)
    complete(environment, webhook_schedule="0")
    assert Settings.model_validate({}).webhook_delays() == (0,)


def test_a_process_of_our_own_gets_the_same_settings(environment: pytest.MonkeyPatch) -> None:
    complete(environment, webhook_loopback="true", webhook_schedule="0,1", webhook_concurrency="7")
    settings = Settings.model_validate({})
    for name, value in settings.variables().items():
        environment.setenv(name, value)
    assert Settings.model_validate({}) == settings
