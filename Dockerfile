# The gateway in a container: no shell script, no root, no writes outside /data and /tmp. Build: docker build -t tollgate .
ARG NODE_VERSION=24.21.0

FROM node:${NODE_VERSION}-slim AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY src/console/package.json src/console/package.json
# The optional packages are a Node for machines without one; this image has it. What builds the console is the next stage's.
RUN npm ci --workspaces=false --omit=dev --omit=optional --ignore-scripts --loglevel=error

FROM node:${NODE_VERSION}-slim AS console
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY src/console/package.json src/console/package.json
# The optional packages are there this time: the bundler is one of them.
RUN npm ci --omit=dev --ignore-scripts --loglevel=error
COPY scripts/console.ts scripts/console.ts
COPY src src
RUN node scripts/console.ts

FROM node:${NODE_VERSION}-slim
ENV NODE_ENV=production MALLOC_ARENA_MAX=2 TOLLGATE_HOST=0.0.0.0 TOLLGATE_PORT=8787 TOLLGATE_DATA_DIR=/data
RUN mkdir /data && chown node:node /data && chmod 0700 /data
WORKDIR /app
COPY --from=packages /app/node_modules node_modules
COPY package.json LICENSE ./
COPY --from=console /app/dist dist
COPY src src
COPY docs docs
COPY scripts/healthcheck.ts scripts/healthcheck.ts
USER node
VOLUME /data
EXPOSE 8787
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 CMD ["node", "scripts/healthcheck.ts"]
# The flags are those of scripts/node-flags.
CMD ["node", "--max-semi-space-size=16", "--heap-growing-percent=60", "--no-allocation-site-pretenuring", "src/main.ts"]
