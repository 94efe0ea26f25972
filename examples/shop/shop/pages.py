"""What customers see, and where webhooks arrive."""

import secrets
from typing import Any

from flask import Flask, abort, redirect, render_template, request
from pickupbox_sdk import NoCompartmentAvailable, PickupboxError, VerificationFailed
from werkzeug.wrappers import Response

from shop.pickup import Pickup

PRODUCTS = {"tea": ("Green tea", "12.50"), "cup": ("Stoneware cup", "18.00"), "notebook": ("Dotted notebook", "9.80")}


def create_app(pickup: Pickup) -> Flask:
    app = Flask(__name__)
    app.jinja_env.globals["products"] = PRODUCTS

    @app.get("/")
    def welcome() -> str:
        return render_template("welcome.html")

    @app.get("/checkout/<any(tea, cup, notebook):product>")
    def checkout(product: str, problem: str = "") -> str:
        boxes, key = pickup.boxes().values(), secrets.token_urlsafe()
        return render_template("checkout.html", product=product, boxes=boxes, key=key, problem=problem)

    @app.post("/checkout/<any(tea, cup, notebook):product>")
    def place(product: str) -> Response | tuple[str, int]:
        form = request.form
        box = pickup.boxes().get(form["box"]) or abort(400)
        order = pickup.orders.place(form["key"], product, form["customer"][:160], box.id, box.name)
        try:
            pickup.reserve(order)
        except NoCompartmentAvailable:
            return checkout(product, f"{box.name} is full at the moment. Please choose another box."), 409
        answer = redirect(f"/orders/{order['number']}", 303)
        # Lax: another site cannot send a form, such as a cancellation, in the customer's name.
        answer.set_cookie(f"order-{order['number']}", form["key"], 30 * 86400, httponly=True, samesite="Lax")
        return answer

    def of_this_customer(number: str) -> Any:
        """A PIN opens a door: an order is shown to the browser that made it, and to nobody else."""
        order, key = pickup.orders.find(number), request.cookies.get(f"order-{number}", "")
        return order if order and secrets.compare_digest(key.encode(), order["key"].encode()) else abort(404)

    @app.get("/orders/<number>")
    def show(number: str) -> tuple[str, dict[str, str]]:
        return render_template("order.html", order=of_this_customer(number)), {"Cache-Control": "no-store"}

    @app.post("/orders/<number>/cancel")
    def cancel(number: str) -> Response:
        pickup.cancel(of_this_customer(number))
        return redirect(f"/orders/{number}", 303)

    @app.post("/webhooks")
    def webhook() -> tuple[str, int]:
        try:
            pickup.receive(request.get_data(), dict(request.headers))
        except VerificationFailed as failed:
            app.logger.warning("a webhook was refused: %s", failed)
            return "", 400
        return "", 200

    @app.errorhandler(PickupboxError)
    def away(error: PickupboxError) -> tuple[str, int]:
        app.logger.error("pickup boxes: %s", error)
        return render_template("away.html"), 503

    return app
