import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { fillDemo } from '@trestle/stack/commands/demo.ts'
import { createDemoClient } from '@trestle/stack/demo/demo-client.ts'
import { createFirstOperator } from '@trestle/stack/first-operator.ts'
import type { StackStatus } from '@trestle/stack/status/stack-status.ts'
import { freePort } from '@trestle/testing/free-port.ts'
import { z } from 'zod'
import { listen } from '../../fixtures.ts'
import { ROOT } from '../../program.ts'
import { execute } from '../../servers/database.ts'
import { startServer } from '../../servers/server.ts'
import { MERCHANT } from '../payment-page/fixture.ts'
import { START_MS_MAX } from '../start-stack.ts'
import type { ConsoleName } from './screens.ts'

const SILENT_URL = 'http://127.0.0.1:1033'

const CHANGES: Readonly<Partial<Record<ConsoleName, Readonly<Record<string, string>>>>> = {
  silent: { CONSOLE_INVENTORY_URL: SILENT_URL },
  strict: { CONSOLE_REQUIRE_MFA: 'yes' },
}

/**
 * Starts a console with different settings from the stack's, if the name requires this. Returns its address. Disposing of
 * `started` stops the console.
 */
export async function startConsole(
  name: ConsoleName,
  { status, dataDirectory }: { readonly status: StackStatus; readonly dataDirectory: string },
  started: AsyncDisposableStack,
): Promise<string> {
  const changes = CHANGES[name]
  if (changes === undefined) return status.CONSOLE_URL ?? ''
  const settings = parseEnv(readFileSync(join(dataDirectory, 'console.env'), 'utf8'))
  const port = String(await freePort())
  const url = `http://localhost:${port}`
  const server = await startServer({
    name: `the console ${name}`,
    args: [join(ROOT, 'services', 'console', 'src', 'main.ts')],
    cwd: ROOT,
    cores: undefined,
    env: {
      ...Object.fromEntries(Object.entries(settings).map(([setting, value = '']) => [setting, value])),
      PATH: process.env.PATH ?? '',
      CONSOLE_PORT: port,
      CONSOLE_BASE_URL: url,
      CONSOLE_METRICS_ENABLED: 'no',
      ...changes,
    },
    url,
    signs: ['/ready'],
    startMsMax: START_MS_MAX,
  })
  started.defer(server.stop)
  return url
}

/** Starts a server that accepts every webhook. Returns its address. Disposing of `started` stops the server. */
export async function startReceiver(started: AsyncDisposableStack): Promise<string> {
  const server = await listen((request, response) => {
    request.resume()
    response.end('{"received":true}')
  })
  started.defer(server.close)
  return `${server.url}/hooks/payments`
}

/** Longer than any column, with text that would be a tag on a page without escaping. */
const LONG_NAME =
  'Det Kongelige Nordjyske Kaffe- og Teimportkompagni af 1847 <script>alert("name")</script> Aalborg–København–Tórshavn'
const LONG_ADDRESS = 'augusta.ada.king.countess.of.lovelace@mail.analytical-engines.example.com'
const LONG_SKU = `SKU-${'WITHOUT-ANY-SPACE-'.repeat(5)}END`

const Transactions = z.array(z.object({ id: z.string(), successful: z.boolean() }))

/**
 * Fills the services with the demo's shop and with difficult values: long texts, tags in names, unanswered webhooks. Existing
 * objects do not change.
 * @throws Error if a service refuses a request
 */
export async function fillSamples({
  status,
  dataDirectory,
  receiver,
}: {
  readonly status: StackStatus
  readonly dataDirectory: string
  readonly receiver: string
}): Promise<void> {
  const { AUTH_URL = '', SERVICE_ROLE_KEY = '', PAYMENTS_URL = '', INVENTORY_URL = '' } = status
  const said: string[] = []
  await createFirstOperator({ status, root: ROOT, dataDirectory })
  await fillDemo({ status, root: ROOT, dataDirectory, say: (line) => said.push(line) })
  const [, merchantId = '', key = ''] = /merchant (\w{24}), key of its app: (\S+)/.exec(said.join('\n')) ?? []
  const callAuth = createDemoClient(AUTH_URL, `Bearer ${SERVICE_ROLE_KEY}`)
  const user = { email: LONG_ADDRESS, password: 'difference engine', user_metadata: { full_name: LONG_NAME } }
  await callAuth('POST', '/admin/users', { body: user, expected: [422] })
  await createDemoClient(INVENTORY_URL)('POST', '/products', {
    body: { sku: LONG_SKU, attributes: { name: LONG_NAME, weights: { unit: 'g', values: [250, 500, 1_000] } } },
    expected: [409],
  })
  const call = createDemoClient(PAYMENTS_URL, `Basic ${Buffer.from(`:${key}`).toString('base64')}`)
  const webhooks = await call('GET', `/merchants/${merchantId}/webhooks?limit=100`)
  if (z.array(z.unknown()).parse(webhooks.body).length > 0) return
  await call('POST', '/merchants', { body: { ...MERCHANT, name: LONG_NAME, test: true } })
  await sendEvents(call, merchantId, receiver)
  for (const statement of rareRows(merchantId)) await execute(status.DB_URL ?? '', statement)
}

/**
 * Inserts rows that only acquirers and banks can cause: an answer that contradicts the books, an authorization without a known
 * outcome, and bank files.
 */
function rareRows(merchantId: string): readonly string[] {
  const said = JSON.stringify({ type: 'operation', acquirer: 'north', reason: `late <b>answer</b>: ${LONG_SKU}` })
  return [
    `INSERT INTO payments.acquirer_exceptions (merchant_id, id, created, payload)
      SELECT m.id, n.id, n.created, '${said}' FROM payments.merchants m, payments.new_id(m.tag) n WHERE m.id = '${merchantId}'`,
    `INSERT INTO payments.attempts (merchant_id, id, created, kind, state, request)
      SELECT m.id, n.id, n.created, 'charge', 'unknown', '{"acquirer":"north","currency":"EUR","amount":123456789}'
      FROM payments.merchants m, payments.new_id(m.tag) n WHERE m.id = '${merchantId}'`,
    `INSERT INTO payments.payout_batches (id, created, debtor, form, payouts, digest)
      SELECT n.id, n.created, '{}', '{"version":"pain.001.001.09","executionDate":"2026-01-05"}', p.named, '' FROM payments.new_id('00000000') n, (
        SELECT jsonb_agg(jsonb_build_object('id', id, 'merchantId', merchant_id)) named FROM payments.payouts
        WHERE merchant_id = '${merchantId}') p`,
  ]
}

/** Creates a webhook that answers, one that does not, and a payment with events for both. */
async function sendEvents(
  call: ReturnType<typeof createDemoClient>,
  merchantId: string,
  receiver: string,
): Promise<void> {
  const path = `/merchants/${merchantId}`
  for (const url of [receiver, 'http://127.0.0.1:1033/hooks/orders/of/a/shop/that/has/moved/elsewhere'])
    await call('POST', `${path}/webhooks`, { body: { url } })
  const transactions = Transactions.parse((await call('GET', `${path}/transactions?limit=100`)).body)
  const source = transactions.find(({ successful }) => successful)
  const charge = { transactionId: source?.id, amount: 1_250, currency: 'EUR', reference: 'standing order 17' }
  await call('POST', `${path}/transactions`, { body: charge })
}
