// Exit status 0 when the service of this image says that it is ready. There is no curl in the image.
const settings = {
  auth: ['AUTH_API_PORT', '8081'],
  payments: ['PAYMENTS_PORT', '8082'],
  inventory: ['INVENTORY_PORT', '8080'],
}
const [setting, port] = settings[process.env.SERVICE]
const url = `http://127.0.0.1:${process.env[setting] || process.env.PORT || port}/ready`
const response = await fetch(url, { signal: AbortSignal.timeout(4_000) }).catch(() => undefined)
process.exit(response?.ok ? 0 : 1)
