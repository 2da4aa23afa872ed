# For a host with a GPU and NVIDIA's container toolkit:
#   docker build --build-arg COATTEND_GIT_SHA="$(git rev-parse HEAD)" -t coattend .
#   mkdir -p data mlartifacts
#   docker run --gpus all --shm-size 8g -v "$PWD/data:/coattend/data" -v "$PWD/mlartifacts:/coattend/mlartifacts" \
#     -v "$PWD/raw:/raw:ro" coattend run --namespaces dream
# torch brings its own CUDA libraries; without --gpus it computes on the processor.
FROM python:3.11-slim-bookworm

ENV PYTHONUNBUFFERED=1 PYTHONWARNINGS=ignore \
    COATTEND_RAW=/raw \
    MLFLOW_TRACKING_URI=sqlite:////coattend/data/mlflow.db

WORKDIR /coattend
COPY pyproject.toml constraints.txt README.md LICENSE .telemetry ./
COPY src src
RUN pip install --no-cache-dir --disable-pip-version-check -c constraints.txt -e ".[dask,viz]" \
    && useradd --create-home --uid 1000 reader \
    && mkdir -p data mlartifacts conf/local \
    && chown -R reader .
COPY --chown=reader conf conf

# The image has no git: this is the commit that tracked runs name.
ARG COATTEND_GIT_SHA=""
ENV COATTEND_GIT_SHA=$COATTEND_GIT_SHA

USER 1000
ENTRYPOINT ["kedro"]
CMD ["run"]
