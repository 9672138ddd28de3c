import type { IncomingMessage, ServerResponse } from 'node:http'

export interface BodyPlacesOptions {
  /** Bytes that the bodies of all requests together may have. */
  readonly bytesMax: number
  /** The most that one body may have. */
  readonly bodyLimit: number
  /** Ends the connection of a request that gives way to another one. */
  readonly cut: (request: IncomingMessage) => void
}

/** Places for requests with large bodies, which handlers keep in memory until all has arrived. */
export interface BodyPlaces {
  /** Begins a request at once when its body is small, else as soon as there is a place for the body. */
  enter(request: IncomingMessage, response: ServerResponse, begin: () => void): void
  /** Lets slow requests give way to those that wait. To be called each second. */
  sweep(): void
}

interface Entry {
  readonly request: IncomingMessage
  readonly bytes: number
  readonly begin: () => void
  /** Bytes that the connection had received at the last look. */
  received: number
  /** When its body was last seen to arrive fast enough. */
  fastMs: number
}

/** Bodies up to this are not counted: five hundred of them are 8 MiB. */
const SMALL_BYTES = 16 * 1_024
/** A body that gets fewer bytes between two looks is slow. Any connection of today is faster. */
const SLOW_BYTES = 4 * 1_024
/** No request gives way before its body has been slow for so long. */
const GRACE_MS = 2_000

/** Requests that may wait for a place; each has one chunk of its body in memory already. */
const WAITING_MAX = 64

const leaves = new WeakMap<IncomingMessage, () => void>()

/** Gives the place of a request free: its handler does not keep the body, or has done with it. */
export function leaveBodyPlace(request: IncomingMessage): void {
  leaves.get(request)?.()
}

/**
 * Makes places for so many bytes. A request that finds none waits with its body unread. A request that has one gives way when
 * its body hardly arrives any more: a client that stops a byte before the end of its body keeps nobody out.
 */
export function createBodyPlaces({ bytesMax, bodyLimit, cut }: BodyPlacesOptions): BodyPlaces {
  const held = new Set<Entry>()
  const waiting = new Set<Entry>()
  let heldBytes = 0
  const admit = () => {
    for (const entry of waiting) {
      if (heldBytes + entry.bytes > bytesMax) return
      waiting.delete(entry)
      held.add(entry)
      heldBytes += entry.bytes
      entry.fastMs = performance.now()
      entry.begin()
    }
  }
  const leave = (entry: Entry) => {
    waiting.delete(entry)
    if (!held.delete(entry)) return
    heldBytes -= entry.bytes
    admit()
  }
  const sweep = () => {
    const nowMs = performance.now()
    for (const entry of held) lookAt(entry, nowMs)
    const slow = [...held].filter(({ request, fastMs }) => !request.complete && nowMs - fastMs >= GRACE_MS)
    slow.sort((one, other) => one.fastMs - other.fastMs)
    const wanted = sumOfBytes(waiting)
    let freed = 0
    for (const entry of slow) {
      if (freed >= wanted) return
      freed += entry.bytes
      cut(entry.request)
    }
  }
  return {
    enter: (request, response, begin) => {
      const declared = declaredBytes(request)
      // A body that says that it is too large is refused, or taken by a handler that keeps none of it.
      const isKept = declared <= bodyLimit || declared === Number.POSITIVE_INFINITY
      if (declared <= SMALL_BYTES || !isKept) return begin()
      if (waiting.size >= WAITING_MAX) return cut(request)
      const bytes = Math.min(declared, bodyLimit, bytesMax)
      const entry: Entry = { request, bytes, begin, received: 0, fastMs: 0 }
      leaves.set(request, () => leave(entry))
      response.once('close', () => leave(entry))
      waiting.add(entry)
      admit()
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

function sumOfBytes(entries: ReadonlySet<Entry>): number {
  let sum = 0
  for (const { bytes } of entries) sum += bytes
  return sum
}
