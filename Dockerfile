# One image for each service: docker build --build-arg SERVICE=auth -t trestle-auth .
# The sources run as they are. The build fills the compile cache, as the user that the image runs as.

FROM node:24-bookworm-slim AS manifests
WORKDIR /app
COPY . .
# Only the files that an install depends on, so that a change of sources does not repeat the install.
RUN find . -type f ! -name package.json ! -name pnpm-lock.yaml ! -name pnpm-workspace.yaml ! -name .pnpmfile.cjs ! -name install.mjs ! -path './packages/common/patches/*' -delete

# The packages of all services at once: one download for all images.
FROM node:24-bookworm-slim AS packages
ARG NPM_CONFIG_REGISTRY
WORKDIR /all
COPY --from=manifests /app ./
# Compose passes an empty registry when none is set.
RUN if [ -z "$NPM_CONFIG_REGISTRY" ]; then unset NPM_CONFIG_REGISTRY; fi \
 && sed -n "s/^const PNPM = '\(.*\)'$/exec npx --yes \1 \"\$@\"/p" scripts/install.mjs >/usr/local/bin/pinned-pnpm \
 && chmod +x /usr/local/bin/pinned-pnpm \
 && pinned-pnpm install --frozen-lockfile --prod --filter-prod '@trestle/auth...' \
      --filter-prod '@trestle/payments...' --filter-prod '@trestle/inventory...' \
      --filter-prod '@trestle/console...'

FROM packages AS install
ARG SERVICE
WORKDIR /app
COPY --from=manifests /app ./
RUN pinned-pnpm install --offline --frozen-lockfile --prod --filter-prod "@trestle/$SERVICE..."

FROM node:24-bookworm-slim
# The Compose file of Supabase asks by wget whether auth is healthy.
RUN apt-get update && apt-get install -y --no-install-recommends wget && rm -rf /var/lib/apt/lists/*
ARG SERVICE
ENV SERVICE=$SERVICE NODE_ENV=production NODE_COMPILE_CACHE=/app/.cache/node \
    PAYMENTS_HOST=0.0.0.0 INVENTORY_HOST=0.0.0.0 CONSOLE_HOST=0.0.0.0 \
    OTEL_EXPORTER_PROMETHEUS_HOST=0.0.0.0
WORKDIR /app
RUN mkdir -p .cache logs && chown node:node .cache logs
COPY --from=install /app ./
COPY deploy/docker/run-service /usr/local/bin/$SERVICE
COPY deploy/docker/healthcheck.mjs ./
COPY migrations migrations
COPY packages packages
COPY services/$SERVICE services/$SERVICE
# Of all services: the console has no API document, and COPY needs a file.
COPY docs/openapi docs/openapi
USER node
RUN "$SERVICE" warm-up
HEALTHCHECK --interval=5s --timeout=5s --start-period=30s --retries=6 CMD ["node", "healthcheck.mjs"]
CMD exec "$SERVICE" serve
