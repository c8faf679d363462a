# The action's image. BuildKit and the legacy builder (which `act` and machines without buildx use) both build it.

FROM python:3.13-slim AS dependencies
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /src
# Two environments: ours, without pip, and a plain one for the user's commands and Python. The third only builds the wheel.
RUN python -m venv --without-pip /opt/arksim && python -m venv /opt/user && python -m venv /opt/build \
    && /opt/arksim/bin/python -c 'import sysconfig; open(sysconfig.get_path("purelib") + "/app.pth", "w").write("/opt/arksim/app")'
COPY requirements/image.txt requirements/build.txt requirements/
RUN python -m pip --python /opt/arksim/bin/python install --require-hashes -r requirements/image.txt \
    && /opt/build/bin/python -m pip install --require-hashes -r requirements/build.txt

FROM dependencies AS build
COPY pyproject.toml README.md LICENSE ./
COPY examples examples
COPY arksim_ci arksim_ci
RUN /opt/build/bin/python -m pip wheel --no-deps --no-build-isolation --wheel-dir dist . \
    && python -m pip install --no-deps --no-index --target /opt/app dist/*.whl

FROM python:3.13-slim
LABEL org.opencontainers.image.title="arksim-action" \
      org.opencontainers.image.description="A quality gate for chat agents: simulated users talk to the agent, an LLM judge scores every turn, thresholds decide." \
      org.opencontainers.image.source="https://github.com/org/arksim-action" \
      org.opencontainers.image.documentation="https://github.com/org/arksim-action#readme" \
      org.opencontainers.image.licenses="Apache-2.0"
# What changes least comes first: a new version of ours is a small layer to pull.
COPY --from=dependencies /opt/user /opt/user
COPY --from=dependencies /opt/arksim /opt/arksim
COPY --from=build /opt/app /opt/arksim/app
COPY entrypoint.py /opt/arksim/
# The job's variables come in, and nothing of them may change how we start: no shell, absolute paths, `-I` against PYTHONPATH and PYTHONHOME,
# and no libraries of the runner's. As root: GitHub mounts the workspace and the command files for root.
ENTRYPOINT ["/usr/bin/env", "-u", "LD_LIBRARY_PATH", "-u", "LD_PRELOAD", "/opt/arksim/bin/python", "-I", "/opt/arksim/entrypoint.py"]
