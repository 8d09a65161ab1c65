"""A schema registry over HTTP for tests: real sockets, a small part of the API, everything in memory."""

import contextlib
import http.server
import json
import ssl
import threading
from urllib.parse import unquote, urlsplit


class RegistryServer:
    """`asked` is what was asked for, as "METHOD path"."""

    def __init__(self):
        self.asked = []
        self.headers = []
        self.schemas = {}  # by id
        self.subjects = {}  # ids by version - 1
        self.levels = {}
        self.incompatible = set()  # texts
        self.fails_with = None
        self.auth = None
        self.url = ""

    def answer(self, method, path, body):
        match method, [unquote(part) for part in path.split("/")[1:]]:
            case "GET", ["subjects"]:
                return 200, sorted(self.subjects)
            case "GET", ["schemas", "ids", number] if int(number) in self.schemas:
                return 200, self.schemas[int(number)]
            case "GET", ["schemas", "ids", _]:
                return 404, {"error_code": 40403, "message": "Schema not found"}
            case "POST", ["compatibility", "subjects", subject, "versions", _]:
                if subject not in self.subjects:
                    return 404, {"error_code": 40401, "message": "Subject not found"}
                return 200, {"is_compatible": body["schema"] not in self.incompatible}
            case _, ["config", *subject]:
                return self.config(method, subject, body)
            case _, ["subjects", subject, *rest]:
                return self.subject(method, subject, rest, body)
        return 404, {"error_code": 404, "message": "no such path"}

    def config(self, method, subject, body):
        name = subject[0] if subject else ""
        if method == "PUT":
            self.levels[name] = body["compatibility"]
            return 200, body
        return 200, {"compatibilityLevel": self.levels.get(name) or self.levels.get("", "BACKWARD")}

    def subject(self, method, subject, rest, body):
        ids = self.subjects.get(subject, [])
        match method, rest:
            case "POST", ["versions"]:
                return self.register(subject, body)
            case _ if not ids:
                return 404, {"error_code": 40401, "message": f"Subject '{subject}' not found."}
            case "DELETE", []:
                del self.subjects[subject]
                return 200, list(range(1, len(ids) + 1))
            case "GET", ["versions"]:
                return 200, list(range(1, len(ids) + 1))
            case "GET", ["versions", version]:
                number = len(ids) if version == "latest" else int(version)
                return 200, self.version(subject, number)
            case "POST", []:
                found = [number for number, each in enumerate(ids, 1) if self.schemas[each] == body]
                if found:
                    return 200, self.version(subject, found[0])
        return 404, {"error_code": 40403, "message": "Schema not found"}

    def version(self, subject, number):
        schema_id = self.subjects[subject][number - 1]
        return {"subject": subject, "version": number, "id": schema_id, **self.schemas[schema_id]}

    def register(self, subject, body):
        if body["schema"] in self.incompatible:
            return 409, {"error_code": 409, "message": "Schema being registered is incompatible"}
        schema_id = next((number for number, each in self.schemas.items() if each == body), len(self.schemas) + 1)
        self.schemas[schema_id] = body
        ids = self.subjects.setdefault(subject, [])
        if schema_id not in ids:
            ids.append(schema_id)
        return 200, {"id": schema_id}


@contextlib.contextmanager
def schema_registry(*, certificate=None):
    registry = RegistryServer()

    class Handler(http.server.BaseHTTPRequestHandler):
        def serve(self):
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            path = urlsplit(self.path).path
            registry.asked.append(f"{self.command} {self.path}")
            registry.headers.append(dict(self.headers))
            if registry.fails_with is not None:
                status, found = registry.fails_with
            elif registry.auth is not None and self.headers.get("Authorization") != registry.auth:
                status, found = 401, {"error_code": 401, "message": "Unauthorized"}
            else:
                status, found = registry.answer(self.command, path, json.loads(body) if body else None)
            data = found if isinstance(found, bytes) else json.dumps(found).encode()
            self.send_response(status)
            if status == 302:
                self.send_header("Location", f"{registry.url}/elsewhere")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PUT = do_DELETE = serve  # noqa: N815 - the names are those of the library

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        registry.url = f"{'http' if certificate is None else 'https'}://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield registry
        finally:
            server.shutdown()
            thread.join(30)
