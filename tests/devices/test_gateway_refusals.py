"""What a box could not take is told to the person on call."""

from structlog.testing import capture_logs

from pickupbox.devices.messages import RefusedByBox
from pickupbox.settings import Settings
from pickupbox.usecases.core import Core
from tests.devices.street import add_device, box_at, gateway
from tests.support.shop import Shop

PIN = "731946"


async def test_what_a_box_refuses_is_logged_once_a_second_and_without_a_pin(
    shop: Shop, core: Core, on_broker: Settings
) -> None:
    ours = core.new_id("msg")
    talkative, quiet = await add_device(shop), await add_device(shop, await shop.add_box())
    async with gateway(core, on_broker), box_at(on_broker, talkative) as one, box_at(on_broker, quiet) as other:
        await one.beat()
        await other.beat()
        with capture_logs() as lines:
            await one.say(RefusedByBox, about=ours, reason="unknown kind 'sing'")
            for _ in range(50):
                await one.say(RefusedByBox, about=PIN, reason=f"not {PIN}")
            await other.say(RefusedByBox, about=PIN, reason=f"{PIN}? " + "no " * 1000)
            await one.beat()
            await other.beat()
    told = [line for line in lines if line["event"] == "box_refused"]
    first = next(line for line in told if line["device"] == talkative)
    assert (first["about"], first["reason"]) == (ours, "unknown kind 'sing'")
    assert len(told) < 6
    (long,) = [line for line in told if line["device"] == quiet]
    assert (long["log_level"], long["about"], len(long["reason"])) == ("warning", None, 200)
    assert not [line for line in lines if PIN in str(line)]
