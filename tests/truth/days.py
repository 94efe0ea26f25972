"""A day on the street: what people, deadlines and misfortune do, step by step."""

from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta

from pickupbox.database import boxes
from pickupbox.domain.deadlines import WHEN_DUE
from pickupbox.domain.doors import PURPOSES, Purpose
from pickupbox.domain.errors import Refusal
from pickupbox.domain.lifecycle import FACES, CompartmentState, Stage, Trigger, is_released
from pickupbox.usecases.boxes import add_box, default_setup
from pickupbox.usecases.cancel import cancel
from pickupbox.usecases.clock import sweep
from pickupbox.usecases.core import Caller
from pickupbox.usecases.removal import confirm_empty, open_for_removal, release_in_emergency
from pickupbox.usecases.reserve import Reserved, Wish, reserve
from pickupbox.usecases.retry import retry
from pickupbox.usecases.tenants import add_tenant
from tests.truth.clock import now
from tests.truth.spans import AROUND, PATIENCE, ROSTER_SECONDS, SHORT, WITHHELD, span
from tests.truth.street import CODES, HEARTBEAT_SECONDS, SEEN_SECONDS, Street
from tests.truth.truth import Order

LIMITS = {"protection_seconds": 40, "cooldown_seconds": 30, "door_open_seconds": 90}
TTLS = {"reservation_ttl_minutes": 15, "pickup_ttl_minutes": 60}
LONG = {"reservation_ttl_minutes": 24 * 60, "pickup_ttl_minutes": 2 * 24 * 60}
ONWARD = 0.6  # do what the order waits for, so that histories get far
OFTEN = "type power part outlive " * 4 + "reserve pass_time replace " * 3 + "wait gateway cable " * 2
ACTS = (OFTEN + "misremember stale force jam cancel inspect skew emergency").split()


class Day:
    def __init__(self, street: Street) -> None:
        self.street, self.core, self.truth, self.chance = street, street.core, street.truth, street.chance
        self.stages: dict[str, tuple[Stage, datetime | None]] = {}
        self.ends: dict[str, datetime] = {}  # of the reservation, or of the pickup time
        self.committed = 0  # so much of the journal
        self.out_of_service: set[str] = set()
        self.focus: Order | None = None
        self.apart = 0  # so many steps nobody mends the cable
        self.diary: list[str] = []
        self._ask = street.db.during

    async def begin(self) -> None:
        self.tenant = await add_tenant(self.core, "Street")
        setup = replace(default_setup(self.core, "Box"), **LIMITS, **TTLS)
        box_id = await add_box(self.core, self.tenant, setup, len(CODES))
        assert box_id is not None
        self.box_id, self.device = box_id, self.core.new_id("dev")
        async with self.core.db.connection() as connection:
            await connection.execute(
                "INSERT INTO devices (tenant_id, id, box_id) VALUES ($1, $2, $3)", self.tenant, self.device, box_id
            )
        self.shop, self.operator = Caller(self.tenant, "shop"), Caller(self.tenant, "operator")
        self.street.start_gateway()
        self.street.switch_on(self.device)
        for _ in range(2):  # the answer to the first heartbeat tells the box the time
            await self.street.carry(0)
            await self.street.db.move(1)

    async def act(self) -> None:
        self.apart -= 1
        door = next((code for code in CODES if self.street.doors.is_open(code)), None)
        if door is not None and self.chance.random() < 0.5:
            await self._at_the_door(door)
        elif self.chance.random() < ONWARD:
            await self._onward()
        else:
            await getattr(self, f"_{self.chance.choice(ACTS)}")()
        await self.street.carry(self.chance.random())

    async def _onward(self) -> None:
        if await self._mended():
            return
        if self.focus is None or self.chance.random() < 0.1:
            live = [one for one in self.truth.orders if not is_released(self._stage(one))]
            self.focus = self.chance.choice(live) if live else None
        stage = self._stage(self.focus) if self.focus else None
        if stage is None or is_released(stage):
            await self._reserve()
        elif stage in (Stage.RESERVED, Stage.READY) or (stage is Stage.PROTECTED and self.chance.random() < 0.4):
            await self._type()
        elif FACES[stage].compartment_state is CompartmentState.AWAITING_REMOVAL:
            await self._remove(self.focus)
        elif self.street.doors.is_open(self.focus.code):
            await self._at_the_door(self.focus.code)
        else:
            await self._pass_time()

    def _stage(self, order: Order) -> Stage:
        return self.stages[order.id][0]

    def _write(self, *words: object) -> None:
        street = self.street
        state = "".join(
            mark if is_so else "-"
            for mark, is_so in (("B", street.box), ("G", street.gateway), ("W", street.wire.whole))
        )
        self.diary.append(f"{street.loop.moment:10.2f} {state} {' '.join(map(str, words))}")

    # The shop.

    async def _reserve(self) -> None:
        faulted = [one for one in self.truth.orders if self._stage(one) is Stage.FAULT]
        with suppress(Refusal):
            if faulted and self.chance.random() < 0.5:
                self._born(await self._ask(retry(self.core, self.shop, self.chance.choice(faulted).id)))
            else:
                long = LONG if self.chance.random() < 0.5 else {}
                wish = Wish(self.box_id, f"order {len(self.truth.orders)}", **long)
                self._born(await self._ask(reserve(self.core, self.shop, wish)))

    def _born(self, made: Reserved) -> None:
        if made.replayed:
            return
        order = Order(made.shipment.id, made.pin, made.shipment.compartment_code)
        self._write("reserved", order.id[-4:], order.code)
        self.ends[order.id] = made.shipment.reservation_expires_at
        self.stages[order.id] = made.shipment.stage, made.shipment.due_at
        self.truth.born(order, self.street.roster_on_disk, made.shipment.created_at.timestamp())
        self.focus = order

    async def _cancel(self) -> None:
        if self.focus:
            self._write("cancel", self.focus.id[-4:])
            with suppress(Refusal):
                await self._ask(cancel(self.core, self.tenant, self.focus.id))

    # Before the box.

    def _key(self, pin: str, *, valid: bool) -> None:
        box = self.street.box
        if box is not None and not box.asks:  # while it asks, the keys do nothing
            self._write("type", pin, valid)
            self.truth.type(pin, self.street.loop.moment, valid=valid)
            self.street.type(box, pin)

    async def _type(self) -> None:
        if self.focus is not None:
            stage, late = self._stage(self.focus), self._is_late(self.focus)
            self._write(self.focus.id[-4:], "is", stage)
            if self.chance.random() < 0.1:  # the power goes while the door opens
                self.street.power_goes_after(self.chance.randrange(2, 7))
            self._key(self.focus.pin, valid=stage in PURPOSES and not late)

    def _is_late(self, order: Order) -> bool:
        """Its time is over, and nothing is under way that says that the door was opened in time."""
        unheard = any(one.order == order and not self.truth.is_known(one, self.committed) for one in self.truth.swung)
        over = self.ends[order.id] <= now(self.street.loop) and WHEN_DUE.get(self._stage(order)) is Trigger.EXPIRE
        return over and not unheard

    async def _misremember(self) -> None:
        pins = {order.pin for order in self.truth.orders}
        self._key(next(pin for pin in map("{:06}".format, range(100)) if pin not in pins), valid=False)

    async def _stale(self) -> None:
        done = [one for one in self.truth.orders if self._stage(one) not in PURPOSES]
        if done:
            self._key(self.chance.choice(done).pin, valid=False)

    async def _at_the_door(self, code: str) -> None:
        opening = self.truth.openings[code]
        if opening.order is not None:  # nobody is done with a parcel before the box can have seen the door open
            await self.street.db.move(SEEN_SECONDS)
        self.truth.stand_before(code, self.chance, box_sees=self.street.box_is_awake)
        closes = self.chance.random() < 0.85
        self._write("before", code, opening.purpose, [thing.of[-4:] for thing in self.truth.inside[code]], closes)
        if closes:
            self.truth.close(code)
            if opening.purpose is Purpose.PICK_UP and self.chance.random() < 0.2:  # something was forgotten inside
                self.focus = opening.order
                await self.street.db.move(SEEN_SECONDS)
                await self._type()

    async def _force(self) -> None:
        code = self.chance.choice(CODES)
        if not self.street.is_releasing(code):  # nobody can tell that from the box's own opening
            self._write("force", code)
            self.truth.force(code)

    async def _jam(self) -> None:
        code = self.chance.choice(CODES)
        self._write("jam", code)
        self.street.doors.jammed ^= {code}

    # The operator.

    async def _remove(self, order: Order) -> None:
        empty = not self.truth.inside[order.code] and not self.street.doors.is_open(order.code)
        with suppress(Refusal):
            if empty and self.chance.random() < 0.6:
                await self._ask(confirm_empty(self.core, self.operator, order.id))
                self._write("confirmed", order.id[-4:])
            else:
                command = await self._ask(open_for_removal(self.core, self.operator, order.id))
                self.truth.removals[command.id] = order
                self._write("open for removal", order.id[-4:])

    async def _emergency(self) -> None:
        """Two people look in with a key, and speak the truth."""
        if self.focus and not self.truth.inside[self.focus.code] and not self.street.doors.is_open(self.focus.code):
            self._write("emergency", self.focus.id[-4:])
            with suppress(Refusal):
                await self._ask(release_in_emergency(self.core, self.operator, self.focus.id, "stuck"))
                await self._ask(release_in_emergency(self.core, Caller(self.tenant, "another"), self.focus.id, "stuck"))

    async def _inspect(self) -> None:
        """What is out of service is looked into with a key, emptied and offered again."""
        code = self.chance.choice(CODES)
        if code in self.out_of_service and not self.street.doors.is_open(code):
            self._write("inspect", code)
            self.truth.inside[code].clear()
            async with self.core.db.connection() as connection:
                await boxes.set_in_service(connection, self.tenant, self.box_id, code, in_service=True)

    # Time and misfortune.

    async def _wait(self) -> None:
        self._write("wait")
        await self.street.db.move(self.chance.choice((2, 4, 11)))

    async def _pass_time(self) -> None:
        dues = [due.timestamp() for _, due in self.stages.values() if due is not None]
        leases = list(self.truth.onlooker.leased.values())
        seconds = span(self.chance, self.street.at, leases, dues, apart=self.apart > 0)
        await self.street.db.move(PATIENCE)
        await self._jump(seconds)
        if self.chance.random() < 0.8:
            await self._sweep()

    async def _sweep(self) -> None:
        while await sweep(self.core, 100):
            pass

    async def _jump(self, seconds: float) -> None:
        self._write("pass", round(seconds, 1))
        await self.street.db.jump(max(seconds, 1.0))

    async def _power(self) -> None:
        street = self.street
        if street.box is None:
            self._write("power on")
            street.switch_on(self.device)
        elif self.chance.random() < 0.4:
            self._write("power off")
            await street.power_goes()
        else:
            street.power_goes_after(self.chance.randrange(1, 9))
            self._write("power goes in", street.box_points)

    async def _gateway(self) -> None:
        street = self.street
        if street.gateway is None:
            self._write("gateway starts")
            street.start_gateway()
        elif self.chance.random() < 0.4:
            self._write("gateway killed")
            await street.kill_gateway()
        else:
            street.gateway_points = self.chance.randrange(1, 9)
            self._write("gateway dies in", street.gateway_points)

    async def _mended(self) -> bool:
        """Often the first thing is to bring back what is away."""
        away = {
            "power": self.street.box is None,
            "gateway": self.street.gateway is None,
            "cable": not self.street.wire.whole and self.apart <= 0,
        }
        broken = [name for name, is_away in away.items() if is_away]
        if not broken or self.chance.random() < 0.5:
            return False
        await getattr(self, f"_{self.chance.choice(broken)}")()
        return True

    async def _cable(self) -> None:
        self._write("cable")
        if self.street.wire.whole:
            self.street.wire.cut()
        else:
            self.street.wire.whole = True

    async def _part(self) -> None:
        """Box and service know the newest of each other, and then nothing for a while."""
        if self.street.wire.whole:
            for seconds in (ROSTER_SECONDS, HEARTBEAT_SECONDS, 0):
                await self.street.carry(0)
                await self.street.db.move(seconds)
            await self.street.carry(0)
            await self._cable()
            self.apart = self.chance.randrange(3, 13)

    async def _outlive(self) -> None:
        """Somebody stands there before or after the box's lease, or the time of his shipment, has run out."""
        if self.focus and self._stage(self.focus) is Stage.RESERVED and self.chance.random() < 0.6:
            await self._load(self.focus)
        await self._part()
        onlooker, roster = self.truth.onlooker, self.street.roster_on_disk
        grant = onlooker.grant(roster, self.focus.mark) if self.focus else None
        if grant is not None:
            limit = self.chance.choice([onlooker.leased.get(roster, 0.0), grant.until.timestamp()])
            await self._jump(limit + self.chance.choice(AROUND) - self.street.at)
            await self._stand_before(self.focus)
            if self.chance.random() < 0.4:
                await self._jump(grant.until.timestamp() + SHORT - self.street.at)
                await self._sweep()

    async def _stand_before(self, order: Order) -> None:
        """Type, and do what there is to do if it opens."""
        self.focus = order
        await self._type()
        await self.street.db.move(SEEN_SECONDS)
        if self.street.doors.is_open(order.code):
            await self._at_the_door(order.code)
            await self.street.db.move(SEEN_SECONDS)

    async def _load(self, order: Order) -> None:
        """With everyone in reach: the parcel is put in, and its protection ends."""
        await self._type()
        await self.street.carry(0)
        if self.street.doors.is_open(order.code):
            await self._at_the_door(order.code)
        await self.street.carry(0)
        await self._jump(SHORT)
        await self._sweep()

    async def _replace(self) -> None:
        """A reservation ends while the box is alone, after it was loaded or not, and the next ones want its place."""
        await self._part()
        before = self.focus
        if before is None or self._stage(before) is not Stage.RESERVED:
            return
        if self.chance.random() < 0.5:
            await self._stand_before(before)
        self.focus = before
        await self._cancel()
        await self._jump(self.chance.choice((70.0, 10 * 60.0, WITHHELD - 10, WITHHELD + 10)))
        for _ in CODES:
            await self._reserve()
        self._key(before.pin, valid=False)

    async def _skew(self) -> None:
        self.street.skew = timedelta(seconds=self.chance.randrange(-86_400, 86_401))
        self._write("skew", self.street.skew)
