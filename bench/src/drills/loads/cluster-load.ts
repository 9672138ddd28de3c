import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import type { ClusterShop } from './cluster-payments.ts'
import { type ClientRequest, send } from './send.ts'

/** A service process, and the server of the cluster to which it connects. */
export interface Entry {
  readonly url: string
  /** `undefined` if it connects to several servers. */
  readonly node: number | undefined
}

/** An outage of a server. Times are in milliseconds of `performance.now()`. */
export interface Outage {
  readonly node: number
  /** The time of the signal that ends the server. */
  readonly fromMs: number
  /** The time when its last process had ended. Infinite until then. */
  downMs: number
  /** The end of the outage. Infinite while the server is down. */
  untilMs: number
}

/** A request to a process, for a merchant with rows on the server `node`. */
export interface SentRequest {
  readonly entry: number | undefined
  readonly node: number
  readonly fromMs: number
  readonly untilMs: number
  /** `undefined` if the write was acknowledged. Otherwise the status, or why there is none. */
  readonly failure: string | undefined
  /** `a repeated POST /transactions/560fd96b00000000dbd00000/captures` */
  readonly what: string
}

export interface RequestTally {
  readonly sent: number
  readonly failed: ReadonlyMap<string, number>
}

export interface Judgement {
  /** Requests that must succeed, because the process's and the merchant's servers were up all the time. */
  readonly undisturbed: RequestTally
  /**
   * Requests of a process that connects to several servers, while none of these servers ended. The server of the merchant was up
   * too. These requests must succeed, because a running server could serve them.
   */
  readonly bySeveral: RequestTally
  /** Like `bySeveral`, but a server ended during the request. The process may have been connected to it. */
  readonly atKill: RequestTally
  /** Requests during which the process's or the merchant's server was down for a time. */
  readonly disturbed: RequestTally
}

/** Divides requests by whether a required server was down. */
export function judge(requests: readonly SentRequest[], outages: readonly Outage[]): Judgement {
  const wasDown = (node: number, { fromMs, untilMs }: SentRequest) =>
    outages.some((outage) => outage.node === node && outage.fromMs <= untilMs && outage.untilMs >= fromMs)
  const metKill = ({ fromMs, untilMs }: SentRequest) =>
    outages.some((outage) => outage.fromMs <= untilMs && outage.downMs >= fromMs)
  const groups = Map.groupBy(requests, (request): keyof Judgement => {
    if (wasDown(request.node, request)) return 'disturbed'
    if (request.entry === undefined) return metKill(request) ? 'atKill' : 'bySeveral'
    return wasDown(request.entry, request) ? 'disturbed' : 'undisturbed'
  })
  const tally = (name: keyof Judgement): RequestTally => {
    const group = groups.get(name) ?? []
    const failures = Map.groupBy(group, ({ failure }) => failure)
    failures.delete(undefined)
    return { sent: group.length, failed: new Map([...failures].map(([failure, all]) => [String(failure), all.length])) }
  }
  return {
    undisturbed: tally('undisturbed'),
    bySeveral: tally('bySeveral'),
    atKill: tally('atKill'),
    disturbed: tally('disturbed'),
  }
}

/** Clients that write for all merchants until stopped. */
export interface ClusterLoad {
  readonly acknowledged: ReadonlySet<string>
  /** References of charges that the service gave up and reversed. Each idempotent request gets the same refusal. */
  readonly reversed: ReadonlySet<string>
  /** All requests, ordered by their ends. */
  readonly requests: readonly SentRequest[]
  /**
   * Begins no more writes. Resolves when every write is acknowledged or given up.
   * @returns the number of given-up writes
   */
  stop(): Promise<number>
}

const RETRY_MS = 500
/** One request in this many is a retry. */
const REQUESTS_TO_A_RETRY = 3
/** The maximum number of writes that wait for a retry. At the limit, no new write begins, so that clients can finish. */
const WAITING_MAX = 300
const PAUSE_MS = 20
/** How long the clients retry unacknowledged writes after the stop. */
const END_MS = 30_000
const CREATED = 201

interface Write {
  readonly reference: string
  readonly merchant: number
  readonly request: ClientRequest
  /** When it is sent next, in milliseconds of `performance.now()`. */
  readonly dueMs: number
  readonly isRepeat: boolean
}

/**
 * Each client sends one request after the other, each to a random process. It retries an unacknowledged write later, and first
 * continues with other writes. Otherwise all clients would soon wait for the stopped server.
 */
export function startClusterLoad(options: {
  readonly shop: ClusterShop
  /** Processes, one for each request. More may be added during the load. */
  readonly entries: readonly Entry[]
  /** The server with the rows of a merchant, given the merchant's position in the list. */
  readonly nodeOf: (merchant: number) => number
  readonly clients: number
}): ClusterLoad {
  const { shop, entries, nodeOf, clients } = options
  const acknowledged = new Set<string>()
  const reversed = new Set<string>()
  const requests: SentRequest[] = []
  const waiting: Write[] = []
  let [stopMs, requestCount, count, open] = [Number.POSITIVE_INFINITY, 0, 0, 0]
  const nextWrite = (): Write | undefined => {
    const nowMs = performance.now()
    requestCount += 1
    const isRetryDue = requestCount % REQUESTS_TO_A_RETRY === 0 || nowMs > stopMs || waiting.length >= WAITING_MAX
    if (isRetryDue && waiting[0] && waiting[0].dueMs <= nowMs) return waiting.shift()
    if (nowMs > stopMs || waiting.length >= WAITING_MAX) return undefined
    const [merchant, reference] = [Math.floor(Math.random() * shop.merchantIds.length), `write-${++count}`]
    return { reference, merchant, request: shop.nextWrite(merchant)(reference), dueMs: nowMs, isRepeat: false }
  }
  const sendOne = async (write: Write) => {
    const entry = entries[Math.floor(Math.random() * entries.length)]
    if (entry === undefined) throw new Error('there is no entry')
    const [fromMs, node] = [performance.now(), nodeOf(write.merchant)]
    const outcome = await send(entry.url, write.request)
    const untilMs = performance.now()
    const failure = typeof outcome === 'string' ? outcome : describe(outcome)
    const what = `a ${write.isRepeat ? 'repeated ' : ''}${write.request.method} ${write.request.path}`
    requests.push({ entry: entry.node, node, fromMs, untilMs, failure, what })
    if (failure === undefined) acknowledged.add(write.reference)
    else if (failure === REVERSED) reversed.add(write.reference)
    else waiting.push({ ...write, dueMs: untilMs + RETRY_MS, isRepeat: true })
  }
  const isOver = () => performance.now() > stopMs + (waiting.length + open === 0 ? 0 : END_MS)
  const work = async () => {
    while (!isOver()) {
      const write = nextWrite()
      open += write ? 1 : 0
      if (write) await sendOne(write)
      open -= write ? 1 : 0
      await delay(PAUSE_MS)
    }
  }
  const working = Promise.all(Array.from({ length: clients }, work))
  return {
    acknowledged,
    reversed,
    requests,
    stop: async () => {
      stopMs = Math.min(stopMs, performance.now())
      await working
      return waiting.length
    },
  }
}

const BAD_REQUEST = 400
const REVERSED = 'reversed'
const ErrorBody = z.object({ code: z.literal(12) })

/** Whether a charge is reversed because its outcome was lost with its server (reference of payments: Processing errors). */
function isReversed({ status, body }: { readonly status: number; readonly body: string }): boolean {
  return status === BAD_REQUEST && ErrorBody.safeParse(JSON.parse(body)).success
}

/**
 * `undefined` if the write is acknowledged. The status if it was refused because of a temporary failure. Otherwise also the body,
 * which shows a defect.
 */
function describe({ status, body }: { readonly status: number; readonly body: string }): string | undefined {
  if (status === CREATED) return undefined
  if (isReversed({ status, body })) return REVERSED
  return status === 409 || status === 503 ? String(status) : `${status} ${body.slice(0, 200)}`
}
