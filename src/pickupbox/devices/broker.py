"""The way to the broker."""

import os
import ssl
from urllib.parse import urlsplit

import aiomqtt

from pickupbox.settings import Settings

INFLIGHT = 1000


def connect(settings: Settings, role: str) -> aiomqtt.Client:
    """A client of the broker that the settings name; `mqtts` with the service's certificate."""
    url = urlsplit(settings.mqtt_url)
    tls = None
    if url.scheme == "mqtts":
        tls = ssl.create_default_context(cafile=settings.mqtt_ca)
        if settings.mqtt_certificate is not None:
            tls.load_cert_chain(settings.mqtt_certificate, settings.mqtt_key)
    client = aiomqtt.Client(
        url.hostname or "127.0.0.1",
        url.port or (8883 if tls else 1883),
        username=url.username,
        password=url.password,
        identifier=f"pickupbox-{role}-{os.urandom(6).hex()}",
        protocol=aiomqtt.ProtocolVersion.V5,
        tls_context=tls,
        timeout=10,
        keepalive=30,
        max_inflight_messages=INFLIGHT,
        max_concurrent_outgoing_calls=INFLIGHT,
    )
    client.pending_calls_threshold = INFLIGHT  # below that it is nothing to warn of
    return client
