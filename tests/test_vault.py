"""The vault: what is sealed opens only where it belongs, and no secret is ever said."""

import base64
import re

import pytest
from cryptography.exceptions import InvalidTag

from pickupbox.vault import Sealed, Secret, Vault, new_secret, read_secrets

K1, K2 = Secret("k1", bytes(range(32))), Secret("k2", bytes(range(32, 64)))
ENCODED = base64.b64encode(bytes(range(32))).decode()


def test_a_sealed_pin_opens_for_its_tenant_and_shipment() -> None:
    vault = Vault([K1])
    sealed = vault.seal_pin("ten_1", "shp_1", "012345")
    assert sealed.secret_id == "k1"
    assert vault.open_pin("ten_1", "shp_1", sealed) == "012345"


@pytest.mark.parametrize(("tenant", "shipment"), [("ten_2", "shp_1"), ("ten_1", "shp_2")])
def test_a_sealed_pin_copied_to_another_row_does_not_open(tenant: str, shipment: str) -> None:
    vault = Vault([K1])
    sealed = vault.seal_pin("ten_1", "shp_1", "012345")
    with pytest.raises(InvalidTag):
        vault.open_pin(tenant, shipment, sealed)


def test_a_changed_seal_does_not_open() -> None:
    vault = Vault([K1])
    sealed = vault.seal_pin("ten_1", "shp_1", "012345")
    for place in range(len(sealed.sealed)):
        changed = bytearray(sealed.sealed)
        changed[place] ^= 1
        with pytest.raises(InvalidTag):
            vault.open_pin("ten_1", "shp_1", Sealed("k1", bytes(changed)))


def test_the_same_pin_is_never_sealed_to_the_same_bytes_nor_lies_open_in_them() -> None:
    vault = Vault([K1])
    seals = [vault.seal_pin("ten_1", "shp_1", "012345").sealed for _ in range(50)]
    assert len(set(seals)) == 50
    assert all(b"012345" not in seal for seal in seals)


def test_the_wrong_secret_under_the_right_name_does_not_open() -> None:
    sealed = Vault([K1]).seal_pin("ten_1", "shp_1", "012345")
    with pytest.raises(InvalidTag):
        Vault([Secret("k1", K2.root)]).open_pin("ten_1", "shp_1", sealed)


def test_a_secret_that_is_gone_opens_nothing() -> None:
    sealed = Vault([K1]).seal_pin("ten_1", "shp_1", "012345")
    with pytest.raises(KeyError):
        Vault([K2]).open_pin("ten_1", "shp_1", sealed)


def test_during_a_rotation_the_old_secret_opens_and_the_new_one_seals() -> None:
    before, during = Vault([K1]), Vault([K2, K1])
    sealed = before.seal_pin("ten_1", "shp_1", "012345")
    assert during.open_pin("ten_1", "shp_1", sealed) == "012345"
    assert during.seal_pin("ten_1", "shp_1", "012345").secret_id == "k2"
    assert during.current == K2


def test_a_lookup_is_the_same_for_the_same_box_and_pin_and_for_nothing_else() -> None:
    vault = Vault([K1])
    assert vault.pin_lookup("box_1", "012345") == vault.pin_lookup("box_1", "012345")
    others = {
        vault.pin_lookup("box_1", "012346"),
        vault.pin_lookup("box_2", "012345"),
        Vault([K2]).pin_lookup("box_1", "012345"),
    }
    assert len(others | {vault.pin_lookup("box_1", "012345")}) == 4


def test_the_lookup_before_is_the_one_of_the_old_secret_and_there_is_none_without_a_rotation() -> None:
    assert Vault([K2, K1]).pin_lookup_before("box_1", "012345") == Vault([K1]).pin_lookup("box_1", "012345")
    assert Vault([K2, K1]).pin_lookup("box_1", "012345") == Vault([K2]).pin_lookup("box_1", "012345")
    assert Vault([K1]).pin_lookup_before("box_1", "012345") is None


def test_an_api_key_is_known_under_both_secrets_during_a_rotation() -> None:
    old, new = Vault([K1]).api_key_hmac("pbx_key"), Vault([K2]).api_key_hmac("pbx_key")
    assert list(Vault([K2, K1]).api_key_hmacs("pbx_key")) == [new, old]
    assert list(Vault([K1]).api_key_hmacs("pbx_key")) == [old]
    assert len({old, new, Vault([K1]).api_key_hmac("pbx_kez")}) == 3


def test_sealing_lookup_and_keys_use_keys_of_their_own() -> None:
    """A lookup must not be a hash of something that another purpose also hashes."""
    assert len({K1.lookup_key, K1.api_key_key, K1.root}) == 3
    assert Vault([K1]).api_key_hmac("box_1/012345")[:16] != Vault([K1]).pin_lookup("box_1", "012345")


@pytest.mark.parametrize("secrets", [[], [K1, K2, Secret("k3", bytes(32))]])
def test_a_vault_holds_one_secret_or_two(secrets: list[Secret]) -> None:
    with pytest.raises(ValueError, match="one secret, or two"):
        Vault(secrets)


def test_a_new_secret_can_be_read_and_is_new_each_time() -> None:
    written = [new_secret("k1") for _ in range(5)]
    assert len(set(written)) == 5
    for text in written:
        (secret,) = read_secrets(text)
        assert (secret.id, len(secret.root)) == ("k1", 32)


def test_several_secrets_are_read_in_their_order() -> None:
    text = f"k2:{base64.b64encode(K2.root).decode()}, k1:{ENCODED}"
    assert [(secret.id, secret.root) for secret in read_secrets(text)] == [("k2", K2.root), ("k1", K1.root)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "id:base64"),
        (ENCODED, "id:base64"),
        (f":{ENCODED}", "id:base64"),
        (f"k-1:{ENCODED}", "id:base64"),
        (f"k1:{ENCODED[:-4]}", "id:base64"),
        (f"k1:{ENCODED}=", "id:base64"),
        (f"k1:{ENCODED}!", "id:base64"),
        (f"k1:{ENCODED},", "id:base64"),
        (f"k1:{ENCODED},k1:{ENCODED}", "same id"),
        (f"k1:{ENCODED},k2:{ENCODED},k3:{ENCODED}", "at most two"),
    ],
)
def test_what_is_no_secret_is_refused_without_saying_it(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)) as refusal:
        read_secrets(text)
    assert not {part for part in re.findall(r"[A-Za-z0-9+/]{8,}", text) if part in str(refusal.value)}


def test_no_picture_of_a_secret_shows_it() -> None:
    shown = " ".join([repr(K1), str(K1), f"{K1}", repr([K1]), repr(Vault([K1]))])
    assert "k1" in shown
    assert repr(K1.root)[2:20] not in shown
    assert ENCODED not in shown
    assert K1.root.hex() not in shown


KEY = bytes(range(100, 132))


def test_a_sealed_webhook_key_opens_for_its_tenant_and_endpoint_alone() -> None:
    vault = Vault([K1])
    sealed = vault.seal_webhook_key("ten_1", "whe_1", KEY)
    assert (sealed.secret_id, KEY in sealed.sealed) == ("k1", False)
    assert vault.open_webhook_key("ten_1", "whe_1", sealed) == KEY
    for tenant, endpoint in (("ten_2", "whe_1"), ("ten_1", "whe_2"), ("ten_1/whe_1", "")):
        with pytest.raises(InvalidTag):
            vault.open_webhook_key(tenant, endpoint, sealed)


def test_a_changed_seal_of_a_webhook_key_does_not_open() -> None:
    vault = Vault([K1])
    sealed = vault.seal_webhook_key("ten_1", "whe_1", KEY).sealed
    for place in range(len(sealed)):
        changed = bytearray(sealed)
        changed[place] ^= 1
        with pytest.raises(InvalidTag):
            vault.open_webhook_key("ten_1", "whe_1", Sealed("k1", bytes(changed)))


def test_a_webhook_key_and_a_pin_are_sealed_under_keys_of_their_own() -> None:
    """Neither opens as the other, even if it were bound to the same row."""
    vault = Vault([K1])
    with pytest.raises(InvalidTag):
        vault.open_pin("ten_1", "row_1", vault.seal_webhook_key("ten_1", "row_1", b"012345"))
    with pytest.raises(InvalidTag):
        vault.open_webhook_key("ten_1", "row_1", vault.seal_pin("ten_1", "row_1", "012345"))


def test_during_a_rotation_a_webhook_key_opens_and_is_sealed_by_the_new_secret() -> None:
    sealed = Vault([K1]).seal_webhook_key("ten_1", "whe_1", KEY)
    during = Vault([K2, K1])
    assert during.open_webhook_key("ten_1", "whe_1", sealed) == KEY
    again = during.seal_webhook_key("ten_1", "whe_1", KEY)
    assert Vault([K2]).open_webhook_key("ten_1", "whe_1", again) == KEY
    with pytest.raises(KeyError):
        Vault([K2]).open_webhook_key("ten_1", "whe_1", sealed)


def test_a_pages_token_is_known_under_every_secret_in_use_and_no_other() -> None:
    old, new = Vault([K1]).page_token(b"session"), Vault([K2]).page_token(b"session")
    during = Vault([K2, K1])
    assert during.page_token(b"session") == new
    assert during.is_page_token(b"session", old)
    assert during.is_page_token(b"session", new)
    for about, token in ((b"another", old), (b"session", ""), (b"session", "é"), (b"session", old[:-1])):
        assert not during.is_page_token(about, token)
    assert not Vault([K2]).is_page_token(b"session", old)
