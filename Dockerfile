# One image for every part; docker-compose.yml says which one a container runs.
FROM node:20-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY tsconfig.json ./
COPY scripts ./scripts
COPY src ./src
RUN node scripts/build.mjs && npm prune --omit=dev

FROM node:20-bookworm-slim
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
# A new volume takes over this folder's owner.
RUN mkdir /data && chown node:node /data
USER node
ENV NODE_ENV=production LANEWAY_DATA_DIR=/data HOST=0.0.0.0 NODE_OPTIONS=--max-old-space-size=1024
VOLUME /data
EXPOSE 3000
CMD ["node", "dist/start/producer.js"]
