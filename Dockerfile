# A broker in a small image: built with a compiler, run without one, as an ordinary user.
#
#   docker build -t odradek .
#   docker run --rm -p 127.0.0.1:9092:9092 -v odradek-data:/var/lib/odradek odradek
#
# Flags of `odradek start` go to the end of the second command.

FROM python:3.13-slim AS build
# Whatever compiler the base image's release has.
# hadolint ignore=DL3008
RUN apt-get update && apt-get install --yes --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY pyproject.toml setup.py README.md LICENSE ./
COPY src src
RUN pip wheel --no-cache-dir --wheel-dir /wheels .

FROM python:3.13-slim
COPY --from=build /wheels /wheels
# The versions are those of the wheels that were just made.
# hadolint ignore=DL3013
RUN pip install --no-cache-dir --no-index --find-links /wheels odradek && rm -rf /wheels \
    && useradd --system --uid 10092 --home-dir /var/lib/odradek --create-home odradek
USER 10092
VOLUME /var/lib/odradek
EXPOSE 9092 9404
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=5s --timeout=3s --start-period=60s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:9404/ready', timeout=2)"]
ENTRYPOINT ["odradek", "start", "--data", "/var/lib/odradek", "--metrics", "0.0.0.0:9404", \
    "--override", "listeners=PLAINTEXT://0.0.0.0:9092", "--override", "advertised.listeners=PLAINTEXT://localhost:9092"]
