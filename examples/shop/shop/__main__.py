"""`python -m shop` opens the shop; `python -m shop packing` lists what is to be brought to the boxes."""

import logging
import os
import sys
from pathlib import Path

from pickupbox_sdk import Pickupbox
from werkzeug.serving import run_simple

from shop.orders import Orders
from shop.pages import create_app
from shop.pickup import Pickup

orders = Orders(Path(os.environ.get("SHOP_DATABASE", "shop.sqlite3")))
if sys.argv[1:] == ["packing"]:
    for order in orders.to_pack():
        print(f"{order['number']}  {order['box_name']}, {order['compartment']}  PIN to load: {order['pin']}")
    sys.exit()

try:
    service, secret = Pickupbox(os.environ["API_KEY"], os.environ["BASE_URL"]), os.environ["WEBHOOK_SECRET"]
except KeyError as missing:
    sys.exit(f"{missing} is not set: `just demo` prints BASE_URL and API_KEY, `pickupbox listen` WEBHOOK_SECRET")
logging.basicConfig(level=logging.INFO, format="%(message)s")
app = create_app(Pickup(service, orders, secret))
run_simple("127.0.0.1", int(os.environ.get("PORT", "5000")), app, threaded=True)
