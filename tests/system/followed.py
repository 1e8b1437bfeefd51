"""A server whose every line is judged as in the wire stories: by the schemas of its dialect."""
import os
import sys

import client

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "wire"))

from validate import Schemas, Session

schemas = Schemas()


class Server(client.Server):
    """As client.Server; a line that is wrong is a Failure where it is read."""

    def __init__(self, *args, start=True, **options):
        super().__init__(*args, start=False, **options)
        self.session = Session(schemas)
        self.on_line = self.session.server_line
        if start:
            self.start()

    def send_bytes(self, data):
        self.session.client_bytes(data)
        super().send_bytes(data)
