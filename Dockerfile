# One image for every part of the service; docker-compose.yml says which one a container runs. The stage `simulator` is
# the same image with the simulator in it, for trying Laneway out.
FROM node:24-bookworm-slim AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev

FROM packages AS sources
RUN npm ci
COPY tsconfig.json ./
COPY scripts ./scripts
COPY packages/console ./packages/console
COPY src ./src

FROM sources AS build
RUN node scripts/build.mjs

FROM sources AS build-with-simulator
COPY packages/simulator ./packages/simulator
RUN node scripts/build.mjs

FROM node:24-bookworm-slim AS base
WORKDIR /app
# An allocator that gives memory back after a flood: docs/guides/operating/scale-out.md.
RUN apt-get update && apt-get install -y --no-install-recommends libjemalloc2 && rm -rf /var/lib/apt/lists/*
# A new volume takes over this folder's owner.
RUN mkdir /data && chown node:node /data
USER node
ENV NODE_ENV=production LANEWAY_DATA_DIR=/data HOST=0.0.0.0 NODE_OPTIONS=--max-old-space-size=1024
ENV LD_PRELOAD=libjemalloc.so.2 MALLOC_CONF=background_thread:true,narenas:2,dirty_decay_ms:10000,muzzy_decay_ms:0
VOLUME /data
EXPOSE 3000
CMD ["node", "dist/start/producer.js"]
COPY --from=packages /app/package.json ./
COPY --from=packages /app/node_modules ./node_modules

FROM base AS simulator
COPY --from=build-with-simulator /app/dist ./dist

# The last stage is what `docker build .` makes.
FROM base AS production
COPY --from=build /app/dist ./dist
