"""The program in the box: keypad, doors, journal and the link to the service.

It needs the standard library, aiomqtt and (for real locks) pyserial; of the service it imports only `devices.wire`.
"""
