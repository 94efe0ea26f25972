"""The sandbox in memory does not drift from the service: its table is that of the lifecycle, and over random histories
of calls each answers as the other, but for ids, PINs and times."""

import os
from random import Random

import pytest
from pickupbox_sdk.testing import lifecycle
from starlette.types import ASGIApp

from pickupbox.domain.lifecycle import FACES, TRANSITIONS, Stage, Trigger
from pickupbox.usecases.core import Core
from pickupbox.usecases.simulate import TRIGGERS
from tests.sdk.asked import drawn
from tests.sdk.histories import pair
from tests.support.shop import open_shop

HISTORIES = int(os.environ.get("PICKUPBOX_DOUBLE_HISTORIES", "200"))
SEED = int(os.environ.get("PICKUPBOX_DOUBLE_SEED", "1"))
STEPS = 30
SPANS = (1000, 1000, 2000, 2000, 90_000, 3 * 86_400)

# Stages and triggers in which someone stands at the door: a sandbox without boxes has none.
AT_THE_DOOR = {Stage.LOADING, Stage.CORRECTING, Stage.COLLECTING}
ACTS = {Trigger.RESERVE: "reserve", Trigger.CANCEL: "cancel", Trigger.PROTECTION_ENDED: "protection_ended"} | {
    trigger: str(event) for event, trigger in TRIGGERS.items()
}


def test_the_doubles_table_is_that_of_the_lifecycle() -> None:
    real = {
        (stage and str(stage), ACTS[trigger]): (
            str(step.stage),
            tuple((str(told.event), str(told.stage)) for told in step.emits),
        )
        for (stage, trigger), step in TRANSITIONS.items()
        if stage not in AT_THE_DOOR and trigger in ACTS
    }
    assert {key: (step.stage, step.tells) for key, step in lifecycle.STEPS.items()} == real


def test_the_doubles_faces_are_those_of_the_lifecycle() -> None:
    real = {
        str(stage): (face.status, face.compartment_state, face.pickup_enabled)
        for stage, face in FACES.items()
        if stage not in AT_THE_DOOR
    }
    assert real == lifecycle.FACES


@pytest.mark.slow
async def test_the_double_answers_as_the_service_over_any_history(core: Core, app: ASGIApp) -> None:
    seen: set[tuple[str, str]] = set()
    for number in range(HISTORIES):
        chance = Random(SEED * 1_000_000 + number)  # noqa: S311 - a repeatable test, not a secret
        shop = await open_shop(core, app)
        both = await pair(shop, app)
        for _ in range(STEPS):
            if chance.random() < 0.1:
                await both.let_time_pass(chance.choice(SPANS))
            request = drawn(chance, 6, len(both.mock.shipments))
            mock, real = await both.ask(request)
            assert mock == real, (number, request)
            seen.add((f"{request.method} {request.call.path.split('/')[1]}" if request.call else "odd", real["judged"]))
        mock_told, real_told = await both.told()
        assert mock_told == real_told, number
        await both.real.http.aclose()
        await shop.http.aclose()
    if HISTORIES >= 100:
        judged = {name for _, name in seen}
        assert judged >= {
            "BoxNotFound",
            "CompartmentNotReleased",
            "CreatedShipment",
            "EventNotFound",
            "ExternalOrderConflict",
            "InvalidApiKey",
            "InvalidRequest",
            "InvalidSandboxTransition",
            "MethodNotAllowed",
            "NoCompartmentAvailable",
            "NotFound",
            "PickupPin",
            "PinNotAvailable",
            "Shipment",
            "ShipmentNotCancellable",
            "ShipmentNotFaulted",
            "ShipmentNotFound",
            "ValidationFailed",
        }, "some answer was never compared"
