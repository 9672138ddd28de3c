import { Agent, type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import type { Deployment } from '../../servers/deployment.ts'

export interface Target {
  readonly service: string
  readonly env: Readonly<Record<string, string>>
  prepare(place: {
    readonly url: string
    readonly deployment: Deployment
    execute(statement: string): Promise<readonly unknown[]>
  }): Promise<Requests>
}

/** The requests of honest and hostile clients to a service. */
export interface Requests {
  readonly next: () => HonestRequest
  readonly huge: readonly HostileRequest[]
  /** A request with a large body, and the maximum body size of the service. */
  readonly slowBody: HostileRequest & { readonly bytes: number }
}

export interface HostileRequest {
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
}

/** The script of `/docs`, uncompressed and compressed, and the API document. */
export const documents: readonly HostileRequest[] = [
  { path: '/docs/js/scalar.js' },
  { path: '/docs/js/scalar.js', headers: { 'accept-encoding': 'br' } },
  { path: '/openapi.json' },
]

export function roundRobin<T>(values: readonly T[]): () => T {
  let at = 0
  return () => {
    const value = values[at++ % values.length]
    if (value === undefined) throw new Error('there are no values')
    return value
  }
}

export function mixed(kinds: readonly (() => HonestRequest)[]): () => HonestRequest {
  const next = roundRobin(kinds)
  return () => next()()
}

export const KINDS = [
  'never-read',
  'read-slowly',
  'send-ahead',
  'write-heads-slowly',
  'write-bodies-slowly',
  'half-open',
  'read-all',
] as const
export type Kind = (typeof KINDS)[number]

export const Attack = z.object({
  port: z.number(),
  connections: z.number(),
  /** The kinds of connections, in equal parts. */
  kinds: z.array(z.enum(KINDS)),
  huge: z.array(z.string()),
  /** A request with a large, endless body: its head, and the number of body bytes sent immediately. */
  slowBody: z.object({ head: z.string(), bytes: z.number() }),
})
export type Attack = z.output<typeof Attack>

export interface HonestRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /** Keeps the part of the response that a later request needs. */
  readonly learn?: (body: string) => void
}

export interface HonestResult {
  /** The time of each request from its due time, in milliseconds. */
  readonly times: readonly number[]
  readonly failed: ReadonlyMap<string, number>
}

/** The address of the honest clients. Services trust it as a proxy, so that limits do not refuse these clients. */
export const HONEST_ADDRESS = '127.0.0.2'
const CONNECTIONS = 32
const TIMEOUT_MS = 20_000
const MS_PER_SECOND = 1_000

/** Sends requests at a fixed rate for a time, without waiting for responses. */
export async function sendHonestLoad(
  url: string,
  next: () => HonestRequest,
  rate: { readonly perSecond: number; readonly seconds: number },
): Promise<HonestResult> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS, localAddress: HONEST_ADDRESS })
  const times: number[] = []
  const failed = new Map<string, number>()
  const sent: Promise<void>[] = []
  const startMs = performance.now()
  const send = async (dueMs: number) => {
    const failure = await sendOne(agent, url, next())
    times.push(performance.now() - dueMs)
    if (failure !== undefined) failed.set(failure, (failed.get(failure) ?? 0) + 1)
  }
  while (sent.length < rate.perSecond * rate.seconds) {
    const dueMs = startMs + (sent.length * MS_PER_SECOND) / rate.perSecond
    if (dueMs > performance.now()) await delay(1)
    else sent.push(send(dueMs))
  }
  await Promise.all(sent)
  agent.destroy()
  return { times, failed }
}

/** @returns the fault, if any */
async function sendOne(agent: Agent, url: string, wanted: HonestRequest): Promise<string | undefined> {
  const { method, path, body, learn } = wanted
  const headers = { ...wanted.headers, 'x-forwarded-for': randomAddress() }
  try {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      request(url + path, { agent, method, headers, timeout: TIMEOUT_MS })
        .once('response', resolve)
        .once('error', reject)
        .once('timeout', () => reject(new Error('no answer')))
        .end(body)
    })
    const answer = await text(response)
    if (response.statusCode !== 200) return `${method} ${path.split(/[?]/)[0]}: ${response.statusCode}`
    learn?.(answer)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** A random address out of 16 million, because limits count by address. */
function randomAddress(): string {
  const part = () => Math.floor(Math.random() * 256)
  return `10.${part()}.${part()}.${part()}`
}
