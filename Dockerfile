# The image has Node, workerd and the built Worker; nothing of what builds them. See docs/self-hosting.md.
# Behind a proxy, run it with -e PUBLIC_URL=https://mcp.example.com: the name that clients know it by.
FROM node:26-trixie AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY package/bin/demand-node.js package/bin/
RUN npm ci
COPY . .
RUN npm run standalone -- /server

FROM node:26-trixie-slim
# Servlets trust the certificates of the system, of which the small image has none.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
ENV SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt NODE_ENV=production
WORKDIR /server
COPY --from=build /server .
RUN install -d -o node -g node /data
USER node
VOLUME /data
EXPOSE 8787
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=15s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:8787/health').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "start.js", "--worker", "worker", "--storage", "/data", "--host", "0.0.0.0", "--port", "8787"]
