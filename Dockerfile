# One image a service: docker build --build-arg SERVICE=auth -t trestle-auth .
# The sources run as they are; the compile cache is filled while the image is built, by the user that it runs as.

FROM node:24-bookworm-slim AS manifests
WORKDIR /app
COPY . .
# Only what an install depends on, so that a change of sources does not install anew.
RUN find . -type f ! -name package.json ! -name pnpm-lock.yaml ! -name pnpm-workspace.yaml ! -name install.mjs -delete

FROM node:24-bookworm-slim AS install
ARG SERVICE
ARG NPM_CONFIG_REGISTRY
WORKDIR /app
COPY --from=manifests /app ./
RUN pnpm=$(sed -n "s/^const PNPM = '\(.*\)'$/\1/p" scripts/install.mjs) \
 && npx --yes "$pnpm" install --frozen-lockfile --prod --filter-prod "@trestle/$SERVICE..."

FROM node:24-bookworm-slim
ARG SERVICE
ENV SERVICE=$SERVICE NODE_ENV=production NODE_COMPILE_CACHE=/app/.cache/node \
    AUTH_API_HOST=0.0.0.0 PAYMENTS_HOST=0.0.0.0 INVENTORY_HOST=0.0.0.0
WORKDIR /app
RUN mkdir -p .cache logs && chown node:node .cache logs
COPY --from=install /app ./
COPY docker/run-service /usr/local/bin/$SERVICE
COPY docker/healthcheck.mjs docker/
COPY migrations migrations
COPY packages packages
COPY services/$SERVICE services/$SERVICE
USER node
RUN "$SERVICE" version
HEALTHCHECK --interval=5s --timeout=5s --start-period=30s --retries=6 CMD ["node", "docker/healthcheck.mjs"]
CMD exec "$SERVICE" serve
