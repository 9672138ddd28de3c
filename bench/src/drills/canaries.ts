import { randomUUID } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { createMailStore } from '@trestle/stack/mail/mail-store.ts'
import { startSmtpListener } from '@trestle/stack/mail/smtp-listener.ts'
import { freePort } from '@trestle/testing/free-port.ts'
import { openBench } from '../bench.ts'
import { basicOf } from '../fixtures.ts'
import { report, say } from '../program.ts'
import { createClient, payByLink, payOrder } from './canaries/orders.ts'
import { dumpDatabase, findLeaks, type Surface, startRecorder } from './canaries/surfaces.ts'

// Gives payments unmistakable card numbers, keys and other secrets. Uses and misuses them in every way that a client can, lets
// customers pay links and 2,000 orders, and then searches logs, traces, metrics, responses, events, deliveries and a database
// dump for them: `node bench/src/drills/canaries.ts`. Exit status 1 if a secret is found.

/** A card number with a correct check digit, and a test card of the simulator. */
const PAN = '4000056655665556'
const TEST_PAN = '1000000271828182'
const CODE = '739'
const ORDERS = 2_000
const CUSTOMERS = 8
const IDEMPOTENCY_KEY = `repeat-${randomUUID()}`
const PATIENCE_MS = 30_000

/** Secrets by name. No surface may contain one. */
const secrets = new Map<string, string>([
  ['card number', PAN],
  ['test card number', TEST_PAN],
  // Three digits without context occur everywhere.
  ['security code', `"pcsc","value":"${CODE}"`],
])
let invitationToken = ''

await using bench = await openBench()
const mails = createMailStore(() => new Date())
const smtp = await startSmtpListener(mails, 0)
bench.defer(smtp.close)
const [traces, hooks] = [await startRecorder(), await startRecorder()]
for (const recorder of [traces, hooks]) bench.defer(recorder.close)
const logFile = join(bench.folder, 'payments.log')
const metricsPort = await freePort()
const payments = await bench.deploy('payments', {
  env: {
    PAYMENTS_LOG_FILE: logFile,
    PAYMENTS_LOG_LEVEL: 'debug',
    PAYMENTS_ALLOW_SEED: 'yes',
    PAYMENTS_RATE_ADDRESS: '0',
    PAYMENTS_TRACING_ENABLED: 'true',
    OTEL_EXPORTER_OTLP_ENDPOINT: traces.url,
    PAYMENTS_SMTP_URL: `smtp://127.0.0.1:${smtp.port}`,
    PAYMENTS_OTEL_EXPORTER_PROMETHEUS_PORT: String(metricsPort),
    PAYMENTS_WEBHOOK_ALLOW_HTTP: 'true',
    PAYMENTS_WEBHOOK_ALLOWED_HOSTS: '127.0.0.1',
  },
})
for (const name of ['PAYMENTS_PEPPER', 'PAYMENTS_VAULT_KEYS'] as const) {
  secrets.set(name, payments.secrets[name].replace(/^\d+:/, ''))
}
const seeded = await seed()
const server = await payments.serve()
const client = createClient({ url: server.url, headers: basicOf(seeded.key) })
await useSecrets()
for (const number of [PAN, TEST_PAN]) await payByLink(client, seeded.merchantKey, { number, code: CODE })
await misuseSecrets()
say(`${await payOrders()} orders were paid`)
const metrics = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
const events = await client.ask('GET', `/merchants/${seeded.merchantId}/events?limit=1000`)
await waitFor(() => hooks.text().includes('user.invited'))
await server.stop()
judge([
  { name: 'log', text: readFileSync(logFile, 'utf8') },
  { name: 'traces', text: traces.text() },
  { name: 'metrics', text: metrics },
  { name: 'answers', text: client.answers() },
  { name: 'events', text: JSON.stringify(events) },
  { name: 'deliveries', text: hooks.text() },
  { name: 'database', text: await dumpDatabase(payments.databaseUrl) },
])

async function seed() {
  const [key, merchantKey] = [randomUUID(), randomUUID()]
  secrets.set('key of the app', key)
  const [appId, merchantId] = ['1'.repeat(24), '2'.repeat(24)]
  const transactions = [PAN, TEST_PAN].map((number, i) => ({
    id: `${i}`.repeat(16) + merchantId.slice(16),
    merchantId,
    currency: 'EUR',
    amount: 10_000,
    card: { number, expiry: { month: 12, year: 2066 } },
    operations: [{ capture: 5_000 }],
  }))
  const merchant = {
    id: merchantId,
    key: merchantKey,
    currency: 'EUR',
    test: true,
    email: 'owner@bench.example',
    apps: [appId],
    website: 'https://bench.example',
    descriptor: 'BENCH SHOP',
    company: { country: 'DK' },
  }
  const file = join(bench.folder, 'seed.json')
  writeFileSync(file, JSON.stringify({ apps: [{ id: appId, key }], merchants: [merchant], transactions }))
  await payments.runCommand('seed', file)
  return { key, merchantId, merchantKey, transactionIds: transactions.map(({ id }) => id) }
}

/** Uses cards and keys like a client. Adds secrets that a response shows once to the secrets. */
async function useSecrets(): Promise<void> {
  const merchant = `/merchants/${seeded.merchantId}`
  const { webhook } = await client.take('POST', `${merchant}/webhooks`, { url: hooks.url })
  secrets.set('secret of a webhook', webhook?.secret ?? '')
  const rotated = await client.take('POST', `${merchant}/webhooks/${webhook?.id}/secrets`)
  secrets.set('new secret of a webhook', rotated.webhook?.secret ?? '')
  secrets.set('second key', (await client.take('POST', '/me/keys')).key?.key ?? '')
  secrets.set('key of another app', (await client.take('POST', '/apps', { name: 'Other' })).app?.key ?? '')
  for (const id of seeded.transactionIds) {
    await client.ask('POST', `/transactions/${id}/captures`, { amount: 100 }, { 'idempotency-key': IDEMPOTENCY_KEY })
    await client.ask('POST', `/transactions/${id}/refunds`, { amount: 50 })
    await client.ask('POST', `/test/transactions/${id}/disputes`, {})
    await client.ask('POST', `${merchant}/cards`, { transactionId: id })
    await client.ask('POST', `${merchant}/transactions`, { transactionId: id, currency: 'EUR', amount: 500 })
    await client.ask('GET', `/transactions/${id}`)
  }
  await client.ask('POST', `${merchant}/users`, { email: 'ada@bench.example' })
  await waitFor(() => mails.list().length > 0)
  invitationToken = /\/invitations\/([\w-]+)/.exec(mails.list()[0]?.text ?? '')?.[1] ?? ''
  for (const method of ['GET', 'POST', 'GET'] as const) await client.ask(method, `/invitations/${invitationToken}`)
}

/** Misuses cards and keys: sends them to the wrong places. */
async function misuseSecrets(): Promise<void> {
  const wrong = randomUUID()
  secrets.set('invalid key', wrong)
  const merchant = `/merchants/${seeded.merchantId}`
  for (const path of [
    `/transactions/${PAN}`,
    `/cards/${PAN}?number=${PAN}`,
    `/${PAN}`,
    `${merchant}/lines?limit=${PAN}`,
  ]) {
    await client.ask('GET', path)
  }
  const card = { pcn: PAN, number: PAN, cardId: PAN, amount: Number(PAN), currency: PAN, transactionId: PAN }
  for (const path of [
    '/vault',
    '/payments',
    '/payments/challenges/card-lookup',
    '/acs/challenge',
    `${merchant}/transactions`,
    `/transactions/${seeded.transactionIds[0]}/captures`,
    '/merchants',
    '/apps',
  ]) {
    await client.ask('POST', path, { ...card, name: { [PAN]: PAN } })
    await client.send('POST', path, `{"pcn":"${PAN}"`)
  }
  await client.ask('GET', '/me', undefined, basicOf(wrong))
  await client.ask('GET', '/me', undefined, { authorization: `Bearer ${wrong}` })
  await client.ask('POST', '/merchants', { name: 'x' }, { 'idempotency-key': `${IDEMPOTENCY_KEY} ${PAN}` })
}

/** Lets customers pay, some after a refusal, until there are enough orders. @returns the number of paid orders */
async function payOrders(): Promise<number> {
  const refusals = [{ card: { status: 'lost' } }, { card: { scheme: 'unknown' } }, { tds: { status: 'rejected' } }]
  let [begun, paid] = [0, 0]
  const customer = async () => {
    while (paid < ORDERS) {
      const i = begun++
      const card = { number: i % 2 ? PAN : TEST_PAN, code: CODE }
      if (await payOrder(client, { key: seeded.merchantKey, card, test: refusals[i % 20] ?? {} })) paid += 1
    }
  }
  await Promise.all(Array.from({ length: CUSTOMERS }, customer))
  return paid
}

async function waitFor(holds: () => boolean): Promise<void> {
  const deadlineMs = performance.now() + PATIENCE_MS
  while (!holds() && performance.now() < deadlineMs) await delay(100)
  if (!holds()) throw new Error('mails or deliveries did not arrive in time')
}

function judge(surfaces: readonly Surface[]): void {
  for (const { name, text } of surfaces) say(`${name}: ${text.length} characters`)
  const without = (...names: string[]) => surfaces.filter(({ name }) => !names.includes(name))
  const leaks = [
    ...findLeaks(surfaces, secrets),
    // Accepting an invitation redirects to its page, whose URL contains the token.
    ...findLeaks(without('answers'), new Map([['token of an invitation', invitationToken]])),
    // The client has chosen this key, so the database must store it.
    ...findLeaks(without('database'), new Map([['idempotency key', IDEMPOTENCY_KEY]])),
  ]
  report(leaks, `none of the ${secrets.size + 2} secrets was found`)
}
