"""The page of a virtual box: the real box program on the real wire, with doors, keypad and faults in a browser.

Standard library only, like the rest of the box. It works with virtual doors and in a sandbox, nowhere else.
"""
