import type { IncomingMessage, ServerResponse } from 'node:http'
import { defineError } from '../errors/define-error.ts'
import { FairGate } from './fair-gate.ts'

export interface BodyPlacesOptions {
  /** Bytes that the bodies of all requests together may have. Those of one client may have half of it, or one body. */
  readonly bytesMax: number
  /** The most that one body may have. */
  readonly bodyLimit: number
  /** How long a request waits for a place, in milliseconds. */
  readonly patienceMs: number
  /** Whose request it is. */
  readonly clientOf: (request: IncomingMessage) => string
  /** Ends the connection of a request that nobody can answer, when it gives way to another one. */
  readonly cut: (request: IncomingMessage) => void
}

/** Places for requests with large bodies, which handlers keep in memory until all has arrived. */
export interface BodyPlaces {
  /** Begins a request at once when its body is small, else as soon as there is a place for the body, or none in time. */
  enter(request: IncomingMessage, response: ServerResponse, begin: () => void): void
  /** Lets slow requests give way to those that wait. To be called each second. */
  sweep(): void
}

interface Entry {
  readonly request: IncomingMessage
  readonly client: string
  readonly bytes: number
  /** Ends the wait for a place. */
  readonly waitsUntil: AbortController
  /** Bytes that the connection had received at the last look. */
  received: number
  /** When its body was last seen to arrive fast enough. */
  fastMs: number
}

/** Bodies up to this are not counted: five hundred of them are 8 MiB. */
const SMALL_BYTES = 16 * 1_024
/** A body that gets fewer bytes between two looks is slow: the largest ones would not arrive within 30 s. */
const SLOW_BYTES = 32 * 1_024
/** No request gives way before its body has been slow for so long. */
const GRACE_MS = 2_000
/** Requests that may wait for a place; each has one chunk of its body in memory already. */
const WAITING_MAX = 64

const noPlace = defineError(503, 'no_place', 'no place for the body came free')

const leaves = new WeakMap<IncomingMessage, () => void>()
const answers = new WeakMap<IncomingMessage, () => void>()
const refused = new WeakSet<IncomingMessage>()

/** Gives the place of a request free: its handler does not keep the body, or has done with it. */
export function leaveBodyPlace(request: IncomingMessage): void {
  leaves.get(request)?.()
}

/** Whether a request has a place. */
export function hasBodyPlace(request: IncomingMessage): boolean {
  return leaves.has(request)
}

/** Whether there was no place for the body of a request that begins. It is to be refused. */
export function hasNoBodyPlace(request: IncomingMessage): boolean {
  return refused.has(request)
}

/** Says how a request is answered whose body has been slow, when others need its place. */
export function answerSlowBody(request: IncomingMessage, answer: () => void): void {
  answers.set(request, answer)
}

/**
 * Makes places for so many bytes. A request that finds none waits with its body unread. Clients take turns, and
 * those with most bodies are refused first, so that one with many keeps nobody else out. A request that has a place gives way when its body hardly arrives any more.
 */
export function createBodyPlaces({ bytesMax, bodyLimit, patienceMs, clientOf, cut }: BodyPlacesOptions): BodyPlaces {
  const each = Math.min(bytesMax, Math.max(bytesMax / 2, bodyLimit))
  const gate = new FairGate({ places: bytesMax, each, patienceMs, refuse: noPlace })
  const held = new Set<Entry>()
  const waiting = new Set<Entry>()
  const hold = (entry: Entry, response: ServerResponse, place: Disposable) => {
    const leave = () => {
      held.delete(entry)
      place[Symbol.dispose]()
    }
    entry.fastMs = performance.now()
    held.add(entry)
    leaves.set(entry.request, leave)
    response.once('close', leave)
  }
  const wait = async (entry: Entry, response: ServerResponse, begin: () => void) => {
    const { client, bytes, waitsUntil } = entry
    waiting.add(entry)
    const place = await gate.enter({ client, size: bytes, signal: waitsUntil.signal }).catch(() => undefined)
    waiting.delete(entry)
    if (response.closed) return place?.[Symbol.dispose]()
    if (place === undefined) refused.add(entry.request)
    else hold(entry, response, place)
    begin()
  }
  const sweep = () => {
    const nowMs = performance.now()
    for (const entry of held) lookAt(entry, nowMs)
    const slow = [...held].filter(({ request, fastMs }) => !request.complete && nowMs - fastMs >= GRACE_MS)
    slow.sort((one, other) => one.fastMs - other.fastMs)
    let wanted = [...waiting].reduce((sum, { bytes }) => sum + bytes, 0)
    for (const { request, bytes } of slow) {
      if (wanted <= 0) return
      wanted -= bytes
      const answer = answers.get(request)
      if (answer === undefined) cut(request)
      else answer()
    }
  }
  return {
    enter: (request, response, begin) => {
      const declared = declaredBytes(request)
      // A body that says that it is too large is refused, or taken by a handler that keeps none of it.
      const isKept = declared <= bodyLimit || declared === Number.POSITIVE_INFINITY
      if (declared <= SMALL_BYTES || !isKept) return begin()
      const client = clientOf(request)
      if (waiting.size >= WAITING_MAX) {
        const crowding = findCrowding(waiting, client)
        if (crowding === undefined) {
          refused.add(request)
          return begin()
        }
        crowding.waitsUntil.abort()
      }
      const bytes = Math.min(declared, bodyLimit, bytesMax)
      const waitsUntil = new AbortController()
      void wait({ request, client, bytes, waitsUntil, received: 0, fastMs: 0 }, response, begin)
    },
    sweep,
  }
}

/** Bytes that the body may have; a body in chunks may have any number. */
function declaredBytes({ headers }: IncomingMessage): number {
  if (headers['transfer-encoding'] !== undefined) return Number.POSITIVE_INFINITY
  return Number(headers['content-length'] ?? 0)
}

function lookAt(entry: Entry, nowMs: number): void {
  const { bytesRead } = entry.request.socket
  if (bytesRead - entry.received >= SLOW_BYTES) entry.fastMs = nowMs
  entry.received = bytesRead
}

/** The last that waits of the client with most of them; undefined where this one would have as many. */
function findCrowding(waiting: ReadonlySet<Entry>, client: string): Entry | undefined {
  const byClient = Map.groupBy(waiting, (entry) => entry.client)
  const own = byClient.get(client)?.length ?? 0
  const [most] = [...byClient.values()].sort((one, other) => other.length - one.length)
  return most !== undefined && most.length > own + 1 ? most.at(-1) : undefined
}
