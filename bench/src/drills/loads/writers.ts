import { setTimeout as delay } from 'node:timers/promises'
import type { Secrets } from '@trestle/stack/settings/secrets-file.ts'
import { services } from '@trestle/stack/settings/services.ts'
import { freePort } from '@trestle/testing/free-port.ts'
import { z } from 'zod'
import { createApp, insertTransactions, merchantBody, post, signAdminToken } from '../../fixtures.ts'
import type { Deployment } from '../../servers/deployment.ts'
import type { Server } from '../../servers/server.ts'
import { type ClientRequest, send } from './send.ts'

export interface Writer {
  readonly service: 'auth' | 'payments' | 'inventory'
  /** Settings that disable limits on writes. */
  readonly env: Readonly<Record<string, string>>
  prepare(context: {
    readonly url: string
    readonly secrets: Secrets
    readonly execute: (statement: string) => Promise<readonly unknown[]>
  }): Promise<PreparedRequests>
  /** Whether a response means that the write is stored, by this request or an earlier one. */
  isDone(status: number, body: string): boolean
  /** Selects every reference, and the number of its rows. */
  readonly found: string
}

interface PreparedRequests {
  readonly write: (reference: string) => ClientRequest
  readonly read: ClientRequest
}

const CreatedProduct = z.object({ data: z.object({ id: z.number() }) })
const Ids = z.array(z.object({ id: z.string() }))
const MERCHANTS = 4
/** A trail has at most 200 captures. With four merchants this allows 400,000, more than any run writes. */
const TRANSACTIONS_EACH = 500
const MAIN_LOCATION = 1

const isCreated = (status: number) => status === 201

/** One kind of write for each service. It can be repeated, and is stored only once. */
export const writers: readonly Writer[] = [
  {
    service: 'auth',
    env: {},
    prepare: async ({ secrets }) => {
      const headers = { authorization: `Bearer ${signAdminToken(secrets.AUTH_JWT_SECRET)}` }
      return {
        write: (reference) => ({
          method: 'POST',
          path: '/admin/users',
          headers,
          body: { email: `${reference}@drill.example`, email_confirm: true },
        }),
        read: { method: 'GET', path: '/admin/users?cursor=&per_page=1', headers },
      }
    },
    // An address is also taken by an earlier sign-up request whose response was lost.
    isDone: (status, body) => status === 200 || (status === 422 && body.includes('email_exists')),
    found: `SELECT split_part(email, '@', 1) AS reference, count(*) AS times FROM auth.users GROUP BY 1`,
  },
  {
    service: 'payments',
    env: { PAYMENTS_RATE_KEY: '0', PAYMENTS_RATE_APPS: '0', PAYMENTS_RATE_FAILURES: '0' },
    prepare: async ({ url, execute }) => {
      const headers = await createApp(url)
      for (let count = 0; count < MERCHANTS; count += 1) await post(`${url}/merchants`, merchantBody(count), headers)
      await insertTransactions(execute, TRANSACTIONS_EACH)
      const ids = Ids.parse(await execute('SELECT id FROM payments.transactions')).map(({ id }) => id)
      return {
        write: (reference) => ({
          method: 'POST',
          path: `/transactions/${ids[Math.floor(Math.random() * ids.length)]}/captures`,
          headers: { ...headers, 'idempotency-key': reference },
          body: { amount: 1, reference },
        }),
        read: { method: 'GET', path: '/me', headers },
      }
    },
    isDone: isCreated,
    found: 'SELECT reference, count(*) AS times FROM payments.trail_entries WHERE reference IS NOT NULL GROUP BY 1',
  },
  {
    service: 'inventory',
    env: {},
    prepare: async ({ url }) => {
      const { data } = CreatedProduct.parse(await post(`${url}/products`, { sku: 'DRILL', attributes: {} }))
      const line = { type: 'receive', productId: data.id, locationId: MAIN_LOCATION, quantity: 1 }
      return {
        write: (reference) => ({
          method: 'POST',
          path: '/movements',
          headers: { 'idempotency-key': reference },
          body: { lines: [{ ...line, reference }] },
        }),
        read: { method: 'GET', path: `/products/${data.id}` },
      }
    },
    isDone: isCreated,
    found: 'SELECT reference, count(*) AS times FROM inventory.movements WHERE reference IS NOT NULL GROUP BY 1',
  },
]

/** Clients that write to one service until stopped. */
export interface WriteLoad {
  readonly acknowledged: ReadonlySet<string>
  /** The times of the acknowledgements, in milliseconds of `performance.now()`. */
  readonly times: readonly number[]
  /** Missing and unexpected responses, by status or cause. */
  readonly errors: ReadonlyMap<string, number>
  /** Resolves after the last response. */
  stop(): Promise<void>
}

const RETRY_MS = 100

/** Each client sends one reference until the write is acknowledged or the load ends, then the next reference. */
export function startWriteLoad({
  writer,
  url,
  request,
  clients,
  pauseMs,
}: {
  readonly writer: Writer
  /** The URL of a service, without a slash at the end. */
  readonly url: string
  readonly request: (reference: string) => ClientRequest
  readonly clients: number
  readonly pauseMs: number
}): WriteLoad {
  const acknowledged = new Set<string>()
  const times: number[] = []
  const errors = new Map<string, number>()
  let isOver = false
  let count = 0
  const rememberWrite = (reference: string) => {
    acknowledged.add(reference)
    times.push(performance.now())
  }
  const writeOne = async (reference: string) => {
    const wanted = request(reference)
    while (!isOver) {
      const outcome = await send(url, wanted)
      if (typeof outcome !== 'string' && writer.isDone(outcome.status, outcome.body)) return rememberWrite(reference)
      const error = typeof outcome === 'string' ? outcome : String(outcome.status)
      errors.set(error, (errors.get(error) ?? 0) + 1)
      await delay(RETRY_MS)
    }
  }
  const write = async () => {
    while (!isOver) {
      await writeOne(`${writer.service}-${++count}`)
      await delay(pauseMs)
    }
  }
  const writing = Promise.all(Array.from({ length: clients }, write))
  return {
    acknowledged,
    times,
    errors,
    stop: async () => {
      isOver = true
      await writing
    },
  }
}

/** The outcomes of requests. */
export interface RequestCount {
  sent: number
  readonly failed: Map<string, number>
  readonly acknowledged: Set<string>
}

/** Requests to one service, with three reads for each write. */
interface RequestMix {
  readonly writer: Writer
  readonly requests: PreparedRequests
  readonly url: string
}

const READS_TO_A_WRITE = 3
const MS_PER_SECOND = 1_000

export function startCount(): RequestCount {
  return { sent: 0, failed: new Map(), acknowledged: new Set() }
}

/** Sends requests at a fixed rate during the work, without waiting for responses. */
export async function sendAtRate(
  mix: RequestMix,
  count: RequestCount,
  perSecond: number,
  work: Promise<unknown>,
): Promise<void> {
  const open = new Set<Promise<void>>()
  const startMs = performance.now()
  let sent = 0
  let isOver = false
  const over = work.finally(() => {
    isOver = true
  })
  // The caller also awaits the work and gets its error.
  over.catch(() => {})
  while (!isOver) {
    const due = ((performance.now() - startMs) * perSecond) / MS_PER_SECOND
    for (; sent < due; sent += 1) {
      const answered = sendOne(mix, count).finally(() => open.delete(answered))
      open.add(answered)
    }
    await delay(1)
  }
  await Promise.all(open)
  await over
}

/** Runs several clients during the work. Each sends one request after the other. */
export async function sendAtOnce(
  mix: RequestMix,
  count: RequestCount,
  clients: number,
  work: Promise<unknown>,
): Promise<void> {
  let isOver = false
  const over = work.finally(() => {
    isOver = true
  })
  const ask = async () => {
    while (!isOver) await sendOne(mix, count)
  }
  await Promise.all([over, ...Array.from({ length: clients }, ask)])
}

async function sendOne({ writer, requests, url }: RequestMix, count: RequestCount): Promise<void> {
  count.sent += 1
  const isWrite = count.sent % (READS_TO_A_WRITE + 1) === 0
  const reference = `${writer.service}-${count.sent}`
  const outcome = await send(url, isWrite ? requests.write(reference) : requests.read)
  const isGood =
    typeof outcome !== 'string' && (isWrite ? writer.isDone(outcome.status, outcome.body) : outcome.status === 200)
  if (!isGood) {
    const failure = typeof outcome === 'string' ? outcome : String(outcome.status)
    count.failed.set(failure, (count.failed.get(failure) ?? 0) + 1)
  } else if (isWrite) count.acknowledged.add(reference)
}

/** Two processes of a service. Each keeps its address across restarts. */
export interface Replicas extends AsyncDisposable {
  readonly ports: readonly number[]
  readonly urls: readonly string[]
  /** Ends a process with SIGTERM and restarts it. Resolves after a balancer has noticed the restart. */
  restart(index: number): Promise<void>
}

const COUNT = 2
/** Longer than the balancer needs to notice. */
const SHUTDOWN_DELAY = '2s'
const NOTICE_MS = 600

/** @throws Error for an unknown service */
export async function startReplicas(
  deployment: Deployment,
  service: string,
  env: Readonly<Record<string, string>> = {},
): Promise<Replicas> {
  const definition = services.find(({ name }) => name === service)
  if (definition === undefined) throw new Error(`there is no service "${service}"`)
  const ports = await Promise.all(Array.from({ length: COUNT }, freePort))
  const start = (port: number) => {
    const own = { [definition.portSetting]: String(port), [`${definition.prefix}SHUTDOWN_DELAY`]: SHUTDOWN_DELAY }
    return deployment.start({ env: { ...own, ...env } })
  }
  const running: Server[] = []
  for (const port of ports) running.push(await start(port))
  return {
    ports,
    urls: running.map(({ url }) => url),
    restart: async (index) => {
      await running[index]?.stop()
      running[index] = await start(ports[index] ?? 0)
      await delay(NOTICE_MS)
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(running.map(({ stop }) => stop()))
    },
  }
}

/** A common rate limit of all replicas of a service. */
interface SharedLimit {
  readonly env: Readonly<Record<string, string>>
  /** The number of requests allowed by these settings. */
  readonly allowed: number
  readonly request: ClientRequest
}

const CLIENT_HEADER = 'x-real-ip'
const TOO_MANY = 429

export const sharedLimits: Readonly<Record<Writer['service'], SharedLimit>> = {
  auth: {
    env: { AUTH_RATE_LIMIT_STORE: 'postgres', AUTH_RATE_LIMIT_HEADER: CLIENT_HEADER, AUTH_RATE_LIMIT_VERIFY: '30' },
    allowed: 30,
    request: {
      method: 'POST',
      path: '/verify',
      headers: { [CLIENT_HEADER]: '192.0.2.1' },
      body: { type: 'magiclink', token_hash: 'of-nobody' },
    },
  },
  payments: {
    env: { PAYMENTS_RATE_LIMIT_STORE: 'postgres', PAYMENTS_RATE_APPS: '30' },
    allowed: 30,
    request: { method: 'POST', path: '/apps', body: {} },
  },
  inventory: {
    env: { INVENTORY_RATE_LIMIT_STORE: 'postgres', INVENTORY_RATE_LIMIT: '30' },
    allowed: 30,
    request: { method: 'GET', path: '/products' },
  },
}

/** Sends twice as many requests as allowed to alternating replicas. @returns the number of accepted requests */
export async function countAllowed(urls: readonly string[], { allowed, request }: SharedLimit): Promise<number> {
  const all = Array.from({ length: 2 * allowed }, (_, index) => send(urls[index % urls.length] ?? '', request))
  const outcomes = await Promise.all(all)
  return outcomes.filter((outcome) => typeof outcome !== 'string' && outcome.status !== TOO_MANY).length
}
