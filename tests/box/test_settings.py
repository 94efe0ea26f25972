"""The box's settings come from the environment; what makes no sense is named."""

from pathlib import Path

import pytest

from pickupbox.box.__main__ import main
from pickupbox.box.settings import SettingError, read_settings

GIVEN = {"PICKUPBOX_BOX_DEVICE": "dev_c1_" + "0" * 32, "PICKUPBOX_BOX_COMPARTMENTS": "A1, A2,B1"}


def test_two_settings_are_enough() -> None:
    settings = read_settings(GIVEN)
    assert settings.compartments == ("A1", "A2", "B1")
    assert (settings.mqtt_host, settings.mqtt_port, settings.tls()) == ("127.0.0.1", 1883, None)
    assert (settings.driver, settings.journal, settings.keypad) == ("virtual", Path("journal.sqlite"), None)


def test_a_broker_with_tls_has_its_own_port() -> None:
    settings = read_settings({**GIVEN, "PICKUPBOX_BOX_MQTT_URL": "mqtts://broker.example"})
    assert (settings.mqtt_host, settings.mqtt_port, settings.mqtt_tls) == ("broker.example", 8883, True)
    assert settings.tls() is not None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DEVICE", "dev_c1_x"),
        ("COMPARTMENTS", ""),
        ("COMPARTMENTS", "A1,A1"),
        ("COMPARTMENTS", "A1,Ä2"),
        ("COMPARTMENTS", ",".join(f"A{number}" for number in range(161))),
        ("MQTT_URL", "http://127.0.0.1"),
        ("MQTT_URL", "mqtt://127.0.0.1:port"),
        ("DRIVER", "abacus"),
        ("OPEN_BIT", "2"),
        ("JOURNAL_ENTRIES", "many"),
        ("JOURNAL_ENTRIES", "nan"),
        ("LOOK_SECONDS", "0"),
    ],
)
def test_a_setting_that_makes_no_sense_is_named(name: str, value: str) -> None:
    with pytest.raises(SettingError, match=f"PICKUPBOX_BOX_{name}"):
        read_settings({**GIVEN, f"PICKUPBOX_BOX_{name}": value})


def test_with_nothing_set_it_says_what_to_set_and_where_it_comes_from() -> None:
    with pytest.raises(SettingError, match=r"PICKUPBOX_BOX_DEVICE is not set: .* `pickupbox box enroll` prints"):
        read_settings({})
    with pytest.raises(SettingError, match=r"PICKUPBOX_BOX_COMPARTMENTS is not set: .* A1,A2,A3"):
        read_settings({"PICKUPBOX_BOX_DEVICE": GIVEN["PICKUPBOX_BOX_DEVICE"]})


def test_its_help_calls_it_by_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["--help"], ["run", "--help"], ["enroll", "--help"]):
        with pytest.raises(SystemExit):
            main(arguments)
        assert capsys.readouterr().out.startswith("usage: pickupbox-box ")
