# dikkat in a container: built on Debian, run from nothing but the program and the libraries it loads.
#
#   docker build -t dikkat .
#   docker run --rm -p 8080:8080 --read-only --cap-drop all --security-opt no-new-privileges dikkat
#
# amd64 and arm64: docker buildx build --platform linux/amd64,linux/arm64 .

ARG DEBIAN=trixie
FROM docker.io/library/debian:${DEBIAN}-slim AS build
WORKDIR /src
COPY tests/tools/setup.sh tests/tools/setup.sh
RUN tests/tools/setup.sh run && rm -rf /var/lib/apt/lists/*
COPY . .
ARG COMMIT=unknown
RUN make COMMIT="$COMMIT" -j"$(nproc)" && strip -o dikkat build/release/dikkat
# The root of the image: the program, and every library it loads where the loader looks for it. It is for a numeric user
# and needs no other file.
RUN mkdir -p /image/usr/bin /image/usr/share/doc/dikkat \
    && cp dikkat /image/usr/bin/ \
    && cp LICENSE /image/usr/share/doc/dikkat/ \
    && ldd dikkat | sed -n 's|^.*[[:space:]]\(/[^ ]*\) (0x.*$|\1|p' | xargs -I '{}' cp -L --parents '{}' /image

FROM scratch
ARG COMMIT=unknown
LABEL org.opencontainers.image.title="dikkat" \
      org.opencontainers.image.description="Attention computations over HTTP and JSON" \
      org.opencontainers.image.version="1.0.0" \
      org.opencontainers.image.revision="${COMMIT}" \
      org.opencontainers.image.licenses="MIT"
COPY --from=build /image /
# OPENBLAS_NUM_THREADS: no pool of threads that the program would only replace. Behind a load balancer that must first
# notice, set DIKKAT_SHUTDOWN_DELAY_MS as docker/kubernetes does; alone, the container stops at once.
ENV PATH=/usr/bin \
    OPENBLAS_NUM_THREADS=1 \
    DIKKAT_HOST=0.0.0.0 \
    DIKKAT_PORT=8080
EXPOSE 8080
USER 65532:0
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s --retries=3 CMD ["dikkat", "--healthcheck"]
ENTRYPOINT ["dikkat"]
