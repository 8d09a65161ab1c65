"""What a broker and a controller answer: one file per API, `kNN_name.py`, named as in `protocol/messages`.

`table.py` says which APIs are served on which listener, `serves.py` registers a handler, `services.py` has what
handlers work with, `dispatch.py` takes a frame through header, decoding, handler and encoding. `controller/` has the
handlers of the controller's listener.
"""
