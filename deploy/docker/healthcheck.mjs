// Exit status 0 when the service of this image says that it is ready. There is no curl in the image.
const settings = {
  auth: [['AUTH_API_PORT', 'AUTH_PORT', 'GOTRUE_API_PORT', 'GOTRUE_PORT', 'PORT'], '8081'],
  payments: [['PAYMENTS_PORT', 'PORT'], '8082'],
  inventory: [['INVENTORY_PORT', 'PORT'], '8080'],
  console: [['CONSOLE_PORT', 'PORT'], '8084'],
}
const [names, port] = settings[process.env.SERVICE]
const set = names.map((name) => process.env[name]).find((value) => value)
const url = `http://127.0.0.1:${set ?? port}/ready`
const response = await fetch(url, { signal: AbortSignal.timeout(4_000) }).catch(() => undefined)
process.exit(response?.ok ? 0 : 1)
