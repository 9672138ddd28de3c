import { setTimeout as delay } from 'node:timers/promises'
import { type ClientRequest, send } from './send.ts'
import type { PreparedRequests, Writer } from './writers.ts'

/** Clients that write to one service until they are told to stop. */
export interface WriteLoad {
  readonly acknowledged: ReadonlySet<string>
  /** When the writes were acknowledged, in milliseconds of `performance.now()`. */
  readonly times: readonly number[]
  /** Missing and unexpected answers, by status or cause. */
  readonly errors: ReadonlyMap<string, number>
  /** Resolves when the last request is answered. */
  stop(): Promise<void>
}

const RETRY_MS = 100

/**
 * Each client writes one reference after the other. It sends each reference until the write is acknowledged, or the load ends.
 */
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
  /** The pause of a client between two writes. */
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

/** How the requests of clients ended. */
export interface RequestCount {
  sent: number
  /** Failed requests, by status or cause. */
  readonly failed: Map<string, number>
  /** References of acknowledged writes. */
  readonly acknowledged: Set<string>
}

/** Requests to one service, three reads to a write. */
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

/** Sends requests at a fixed rate while the work lasts, without waiting for answers. */
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
  // The caller gets an error of the work, because it awaits the work too.
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

/** Runs a number of clients that send one request after the other while the work lasts. */
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
