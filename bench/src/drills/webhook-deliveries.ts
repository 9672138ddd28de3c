import { createHmac, timingSafeEqual } from 'node:crypto'
import { rmSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { portOf } from '@trestle/testing/free-port.ts'
import pg from 'pg'
import { z } from 'zod'
import { createBenchFolder, say } from '../program.ts'
import { openDatabaseServer } from '../servers/database.ts'
import { type Deployment, deploy } from '../servers/deployment.ts'
import type { Server } from '../servers/server.ts'

// Lets payments send events to a sink that refuses 30 of 100 deliveries: `node bench/src/drills/webhook-deliveries.ts [events]`,
// 2,000 by default. The service is killed three times meanwhile. Afterwards the sink must have accepted each event, with the
// same bytes and a good signature each time, and nothing else. Retries that are a minute or more apart are made due at once.
// Exit status 1 when one of these is not so.

const MERCHANTS = 10
const REFUSED_SHARE = 0.3
const KILLS = 3
const PATIENCE_MS = 300_000
const DUE_EVERY_MS = 1_000

const total = Number(process.argv[2] ?? 2_000)
if (!Number.isInteger(total) || total < 1) throw new Error('the number of events is a whole number above 0')
const folder = createBenchFolder()

/** The deliveries of an event that the sink has seen. */
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
  app: z.object({ key: z.string() }).optional(),
  merchant: z.object({ id: z.string() }).optional(),
  webhook: z.object({ secret: z.string() }).optional(),
})
const Event = z.object({ id: z.string(), merchantId: z.string() })

const seen = new Map<string, Seen>()
const secrets = new Map<string, string>()
const problems = new Set<string>()

try {
  await using started = new AsyncDisposableStack()
  const database = await openDatabaseServer({ url: process.env.BENCH_DATABASE_URL, folder: join(folder, 'postgres') })
  started.defer(database.close)
  const databaseUrl = await database.create('trestle_bench_webhooks')
  const sink = await startSink()
  started.defer(sink.close)
  const deployment = await deploy('payments', {
    folder,
    databaseUrl,
    env: {
      PAYMENTS_RATE_KEY: '0',
      PAYMENTS_RATE_APPS: '0',
      PAYMENTS_RATE_FAILURES: '0',
      PAYMENTS_WEBHOOK_ALLOW_HTTP: 'true',
      PAYMENTS_WEBHOOK_ALLOWED_HOSTS: '127.0.0.1',
    },
  })
  let server = await start(deployment)
  started.defer(() => server.stop())
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  started.defer(() => client.end())

  const headers = await createApp(server.url)
  const merchants = await Promise.all(
    Array.from({ length: MERCHANTS }, () => createMerchant(server.url, headers, sink.url)),
  )
  for (const { id, secret } of merchants) secrets.set(id, secret)
  const startMs = performance.now()
  for (let event = 0; event < total; event += 1) {
    if (event > 0 && event % Math.ceil(total / (KILLS + 1)) === 0) {
      await server.kill()
      server = await start(deployment)
      say(`killed after ${event} events; ${countTaken()} taken`)
    }
    const { id } = merchants[event % MERCHANTS] ?? { id: '' }
    await ask('PUT', `${server.url}/merchants/${id}`, headers, { name: `Name ${event}` })
  }
  const written = await waitForAll(client, startMs)
  report(written, performance.now() - startMs)
} finally {
  rmSync(folder, { recursive: true, force: true })
}

function start(deployment: Deployment): Promise<Server> {
  return deployment.start()
}

async function ask(method: 'POST' | 'PUT', url: string, headers: Record<string, string>, body: object) {
  const response = await fetch(url, {
    method,
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${url} answered ${response.status}: ${text}`)
  return text === '' ? {} : Created.parse(JSON.parse(text))
}

async function createApp(url: string): Promise<Record<string, string>> {
  const { app } = await ask('POST', `${url}/apps`, {}, {})
  return { authorization: `Basic ${Buffer.from(`:${app?.key}`).toString('base64')}` }
}

async function createMerchant(url: string, headers: Record<string, string>, sinkUrl: string): Promise<Merchant> {
  const { merchant } = await ask('POST', `${url}/merchants`, headers, {
    currency: 'EUR',
    test: true,
    email: 'owner@bench.example',
    website: 'https://bench.example',
    descriptor: 'BENCH SHOP',
    company: { country: 'DK' },
  })
  const id = merchant?.id ?? ''
  const { webhook } = await ask('POST', `${url}/merchants/${id}/webhooks`, headers, { url: sinkUrl })
  return { id, secret: webhook?.secret ?? '' }
}

/** Accepts events, or answers 500 at random. */
async function startSink(): Promise<{ readonly url: string; readonly close: () => Promise<void> }> {
  const sink = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString()
    const outcome = Math.random() >= REFUSED_SHARE ? 'taken' : 'refused'
    rememberDelivery(request, body, outcome)
    response.writeHead(outcome === 'taken' ? 204 : 500).end()
  })
  await new Promise<void>((resolve) => sink.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${portOf(sink)}/`,
    close: () =>
      new Promise((resolve) => {
        sink.close(() => resolve())
        sink.closeAllConnections()
      }),
  }
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

/** Makes retries due until every event is accepted. @returns the ids of the events that were written */
async function waitForAll(client: pg.Client, begun: number): Promise<readonly string[]> {
  const { rows } = await client.query<{ id: string }>('SELECT id FROM payments.events')
  while (countTaken() < rows.length && performance.now() - begun < PATIENCE_MS) {
    await client.query("UPDATE payments_jobs.job SET start_after = now() WHERE state = 'retry'")
    await delay(DUE_EVERY_MS)
  }
  return rows.map(({ id }) => id)
}

function report(written: readonly string[], milliseconds: number): void {
  const missing = written.filter((id) => (seen.get(id)?.taken ?? 0) === 0)
  const known = new Set(written)
  for (const id of missing) problems.add(`event ${id} was never taken`)
  for (const id of seen.keys()) if (!known.has(id)) problems.add(`event ${id} was sent and is none`)
  if (written.length !== total) problems.add(`${written.length} events were written for ${total} changes`)
  const counts = [...seen.values()]
  const refused = counts.reduce((sum, each) => sum + each.refused, 0)
  const twice = counts.filter(({ taken }) => taken > 1).length
  say(
    `${written.length} events, ${missing.length} missing; ${refused} deliveries refused, ${twice} taken more than once; ${Math.round(milliseconds / 1_000)} s`,
  )
  for (const problem of problems) say(problem)
  if (problems.size > 0) process.exitCode = 1
}
