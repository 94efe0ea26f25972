"""What may be set about a box, from where to where: the ranges are also its table's, the lengths are held here only."""

RANGES: dict[str, tuple[int, int]] = {
    "reservation_ttl_minutes": (15, 10_080),
    "pickup_ttl_minutes": (60, 43_200),
    "protection_seconds": (0, 1_800),
    "cooldown_seconds": (0, 86_400),
    "door_open_seconds": (10, 3_600),
}
LENGTHS = {"name": 120, "location_name": 160, "address": 240}
COMPARTMENTS = (1, 500)
