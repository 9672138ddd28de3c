import { setTimeout as delay } from 'node:timers/promises'
import { type ClientRequest, send } from './send.ts'
import type { Writer } from './writers.ts'

/** Clients that write to one service until they are told to stop. */
export interface WriteLoad {
  /** References of acknowledged writes. */
  readonly acknowledged: ReadonlySet<string>
  /** When the writes were acknowledged, in milliseconds of `performance.now()`. */
  readonly times: readonly number[]
  /** Missing and unexpected answers, by status or cause. */
  readonly errors: ReadonlyMap<string, number>
  /** Resolves when the last request is answered. */
  stop(): Promise<void>
}

/** The writer of the load, the writes, and how often they are sent. */
export interface WriteLoadOptions {
  readonly writer: Writer
  /** The URL of a service, without a slash at the end. */
  readonly url: string
  readonly request: (reference: string) => ClientRequest
  readonly clients: number
  /** The pause of a client between two writes. */
  readonly pauseMs: number
}

const RETRY_MS = 100

/**
 * Each client writes one reference after the other. It sends each reference until the write is acknowledged, or the load ends.
 */
export function startWriteLoad({ writer, url, request, clients, pauseMs }: WriteLoadOptions): WriteLoad {
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
