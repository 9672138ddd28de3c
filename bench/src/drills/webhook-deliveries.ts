import { createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { openBench } from '../bench.ts'
import { createApp, listen, merchantBody, request } from '../fixtures.ts'
import { readCount, report, say, secondsSince } from '../program.ts'

// Makes payments send events to a server that refuses 30 of 100 deliveries: `node bench/src/drills/webhook-deliveries.ts
// [events]`, 2,000 by default. The service is killed three times meanwhile. Afterwards, the server must have accepted each event
// and nothing else, each time with the same bytes and a valid signature. Retries that are a minute or more apart are made due
// immediately. The exit status is 1 if any check fails.

const MERCHANTS = 10
const REFUSED_SHARE = 0.3
const KILLS = 3
const PATIENCE_MS = 300_000
const DUE_EVERY_MS = 1_000

const total = readCount('events', 2_000)

interface Seen {
  readonly body: string
  taken: number
  refused: number
}

interface Merchant {
  readonly id: string
  readonly secret: string
}

const Created = z.object({
  merchant: z.object({ id: z.string() }).optional(),
  webhook: z.object({ secret: z.string() }).optional(),
})
const Ids = z.array(z.object({ id: z.string() }))
const Event = z.object({ id: z.string(), merchantId: z.string() })

const seen = new Map<string, Seen>()
const secrets = new Map<string, string>()
const problems = new Set<string>()

await using bench = await openBench()
const sink = await startSink()
bench.defer(sink.close)
const payments = await bench.deploy('payments', {
  env: {
    PAYMENTS_RATE_KEY: '0',
    PAYMENTS_RATE_APPS: '0',
    PAYMENTS_RATE_FAILURES: '0',
    PAYMENTS_WEBHOOK_ALLOW_HTTP: 'true',
    PAYMENTS_WEBHOOK_ALLOWED_HOSTS: '127.0.0.1',
  },
})
let server = await payments.start()
bench.defer(() => server.stop())
const headers = await createApp(server.url)
const merchants = await Promise.all(Array.from({ length: MERCHANTS }, () => createMerchant()))
for (const { id, secret } of merchants) secrets.set(id, secret)
const startMs = performance.now()
for (let event = 0; event < total; event += 1) {
  if (event > 0 && event % Math.ceil(total / (KILLS + 1)) === 0) {
    await server.kill()
    server = await payments.start()
    say(`killed after ${event} events; ${countTaken()} taken`)
  }
  const { id } = merchants[event % MERCHANTS] ?? { id: '' }
  await ask('PUT', `/merchants/${id}`, { name: `Name ${event}` })
}
const written = await waitForAll()
report([...problems, ...judge(written)], 'every event was accepted, with the same bytes and a good signature')

async function ask(method: 'POST' | 'PUT', path: string, body: object) {
  const answer = await request(server.url + path, {
    method,
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return Created.parse(answer.body)
}

async function createMerchant(): Promise<Merchant> {
  const { merchant } = await ask('POST', '/merchants', { ...merchantBody(0), currency: 'EUR' })
  const id = merchant?.id ?? ''
  const { webhook } = await ask('POST', `/merchants/${id}/webhooks`, { url: sink.url })
  return { id, secret: webhook?.secret ?? '' }
}

/** Starts a server that accepts events or randomly answers 500. */
function startSink() {
  return listen(async (incoming, response) => {
    const body = Buffer.concat(await incoming.toArray()).toString()
    const outcome = Math.random() >= REFUSED_SHARE ? 'taken' : 'refused'
    rememberDelivery(incoming, body, outcome)
    response.writeHead(outcome === 'taken' ? 204 : 500).end()
  })
}

function rememberDelivery({ headers }: IncomingMessage, body: string, outcome: 'taken' | 'refused'): void {
  const { id, merchantId } = Event.parse(JSON.parse(body))
  const known = seen.get(id) ?? { body, taken: 0, refused: 0 }
  seen.set(id, known)
  if (known.body !== body) problems.add(`event ${id} came with other bytes`)
  if (!isSigned(String(headers['x-signature']), body, secrets.get(merchantId) ?? '')) {
    problems.add(`event ${id} came with a bad signature`)
  }
  known[outcome] += 1
}

function isSigned(header: string, body: string, secret: string): boolean {
  const [, time, signature = ''] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(header) ?? []
  const expected = createHmac('sha256', secret).update(`${time}.${body}`).digest()
  return signature !== '' && timingSafeEqual(expected, Buffer.from(signature, 'hex'))
}

function countTaken(): number {
  return [...seen.values()].filter(({ taken }) => taken > 0).length
}

/** Makes retries due until every event is accepted. @returns the ids of the stored events */
async function waitForAll(): Promise<readonly string[]> {
  const ids = Ids.parse(await payments.execute('SELECT id FROM payments.events')).map(({ id }) => id)
  while (countTaken() < ids.length && performance.now() - startMs < PATIENCE_MS) {
    await payments.execute("UPDATE payments_jobs.job SET start_after = now() WHERE state = 'retry'")
    await delay(DUE_EVERY_MS)
  }
  return ids
}

function judge(ids: readonly string[]): readonly string[] {
  const missing = ids.filter((id) => (seen.get(id)?.taken ?? 0) === 0)
  const strange = [...seen.keys()].filter((id) => !ids.includes(id))
  const counts = [...seen.values()]
  const refused = counts.reduce((sum, each) => sum + each.refused, 0)
  const twice = counts.filter(({ taken }) => taken > 1).length
  say(
    `${ids.length} events, ${missing.length} missing; ${refused} deliveries refused, ${twice} taken more than once; ${secondsSince(startMs)}`,
  )
  return [
    ...missing.map((id) => `event ${id} was never taken`),
    ...strange.map((id) => `event ${id} was sent and is none`),
    ...(ids.length === total ? [] : [`${ids.length} events were written for ${total} changes`]),
  ]
}
