import type { IncomingMessage, ServerResponse } from 'node:http'
import { defineError } from '../errors/define-error.ts'
import { FairGate, type HeldSlots } from './fair-gate.ts'

export interface BodySlotsOptions {
  /**
   * The maximum number of bytes of all request bodies together. One client may use half of them, or one body of any allowed size.
   */
  readonly bytesMax: number
  readonly bodyLimit: number
  readonly patienceMs: number
  /** Returns the client of a request whose caller is not yet known. */
  readonly clientOf: (request: IncomingMessage) => string
  /** Closes the connection of a slow request whose slot others need, if the request cannot be answered. */
  readonly cut: (request: IncomingMessage) => void
}

interface Entry {
  readonly request: IncomingMessage
  /** The client's address, or the caller as soon as the caller is known. */
  client: string
  readonly bytes: number
  /** The time until which the request may wait for a slot. */
  readonly untilMs: number
  /** Aborted to end the wait for a slot. */
  readonly waitsUntil: AbortController
  /** Bytes that the connection had received at the last check. */
  receivedBytes: number
  /** The last time at which the body arrived fast enough. */
  fastMs: number
}

/** Bodies up to this size are not counted. Five hundred of them take only 8 MiB. */
const SMALL_BYTES = 16 * 1_024
/** A body that receives fewer bytes between two checks is slow. At this rate, the largest body would not arrive within 30 s. */
const SLOW_BYTES = 32 * 1_024
/** A request loses its slot only after its body has been slow for this time. */
const GRACE_MS = 2_000
/** The maximum number of requests that wait for a slot. Each of them already has one chunk of its body in memory. */
const WAITING_MAX = 64

const noSlot = defineError(503, 'no_place', 'no place for the body came free')

const leaves = new WeakMap<IncomingMessage, () => void>()
const moves = new WeakMap<IncomingMessage, (caller: string) => Promise<boolean>>()
const callers = new WeakMap<IncomingMessage, string>()
const answers = new WeakMap<IncomingMessage, () => void>()
const refused = new WeakSet<IncomingMessage>()

/** Frees the slot of a request whose handler does not keep the body or no longer needs it. */
export function leaveBodySlot(request: IncomingMessage): void {
  leaves.get(request)?.()
}

export function hasBodySlot(request: IncomingMessage): boolean {
  return leaves.has(request)
}

/**
 * From now on, counts a request for its caller instead of its address. If the caller has already used its share, the request
 * gives up its slot and waits for a new one. Its body is not read during the wait.
 * @returns whether the body may be read
 */
export async function moveBodySlot(request: IncomingMessage, caller: string): Promise<boolean> {
  callers.set(request, caller)
  return (await moves.get(request)?.(caller)) ?? true
}

/** Returns the caller for whom a request counts, or `undefined` if the request counts for its address. */
export function callerOfRequest(request: IncomingMessage): string | undefined {
  return callers.get(request)
}

/** Returns whether a request got no slot for its body. The server must then refuse the request. */
export function hasNoBodySlot(request: IncomingMessage): boolean {
  return refused.has(request)
}

/** Sets how to answer a request if its body is slow and other requests need its slot. */
export function answerSlowBody(request: IncomingMessage, answer: () => void): void {
  answers.set(request, answer)
}

export interface BodySlots {
  /** Starts a request. A small body starts immediately. A large body starts when it has a slot or when the wait is over. */
  readonly enter: (request: IncomingMessage, response: ServerResponse, begin: () => void) => void
  /** Frees the slots of slow requests if other requests wait. Must be called once a second. */
  readonly endSlow: () => void
}

/**
 * Creates slots for requests with large bodies, which handlers keep in memory until the whole body has arrived. A request without
 * a slot waits, and its body is not read. A client is an address until a verified token or key identifies the caller, and then
 * the caller. Clients are served round-robin. If too many requests wait, the client with the most waiting requests is refused
 * first, so it cannot block others. A request whose body hardly arrives loses its slot.
 */
export function createBodySlots(options: BodySlotsOptions): BodySlots {
  const { bytesMax, bodyLimit, patienceMs, cut } = options
  const each = Math.min(bytesMax, Math.max(bytesMax / 2, bodyLimit))
  const gate = new FairGate({ slots: bytesMax, each, patienceMs, refuse: noSlot })
  const held = new Set<Entry>()
  const waiting = new Set<Entry>()
  const keepSlot = (entry: Entry, response: ServerResponse, slot: HeldSlots) => {
    const leaveSlot = () => {
      held.delete(entry)
      moves.delete(entry.request)
      slot[Symbol.dispose]()
    }
    entry.fastMs = performance.now()
    held.add(entry)
    leaves.set(entry.request, leaveSlot)
    moves.set(entry.request, async (caller) => {
      if (slot.moveTo(caller)) {
        entry.client = caller
        return true
      }
      // Free the share of the address during the wait, so that other users of the address can use it.
      leaveSlot()
      response.off('close', leaveSlot)
      return takeSlot({ ...entry, client: caller, waitsUntil: new AbortController() }, response)
    })
    response.once('close', leaveSlot)
  }
  /** Waits for a slot. Resolves to `false` if the request gets none. */
  const takeSlot = async (entry: Entry, response: ServerResponse): Promise<boolean> => {
    const { client, bytes, untilMs, waitsUntil } = entry
    if (waiting.size >= WAITING_MAX) {
      const crowding = findCrowding(waiting, client)
      if (crowding === undefined) return false
      crowding.waitsUntil.abort()
    }
    const timer = setTimeout(() => waitsUntil.abort(), untilMs - performance.now())
    waiting.add(entry)
    const slot = await gate.enter({ client, size: bytes, signal: waitsUntil.signal }).catch(() => undefined)
    waiting.delete(entry)
    clearTimeout(timer)
    if (slot === undefined) return false
    if (response.closed) slot[Symbol.dispose]()
    else keepSlot(entry, response, slot)
    return true
  }
  return {
    enter: (request: IncomingMessage, response: ServerResponse, begin: () => void) => {
      const entry = toEntry(request, options)
      if (entry === undefined) return begin()
      void takeSlot(entry, response).then((hasSlot) => {
        if (!hasSlot) refused.add(request)
        if (!response.closed) begin()
      })
    },
    endSlow: () => endSlow(held, waiting, cut),
  }
}

/** Returns the entry of a request with a large body, or `undefined` if the body is small or not kept in memory. */
function toEntry(request: IncomingMessage, options: BodySlotsOptions): Entry | undefined {
  const { bytesMax, bodyLimit, patienceMs, clientOf } = options
  const declared = declaredBytes(request)
  // A body with a larger declared size is either refused, or read by a handler that does not keep it in memory.
  const isKept = declared <= bodyLimit || declared === Number.POSITIVE_INFINITY
  if (declared <= SMALL_BYTES || !isKept) return undefined
  return {
    request,
    client: clientOf(request),
    bytes: Math.min(declared, bodyLimit, bytesMax),
    untilMs: performance.now() + patienceMs,
    waitsUntil: new AbortController(),
    receivedBytes: 0,
    fastMs: 0,
  }
}

/** Ends as many of the slowest requests as the waiting requests need. */
function endSlow(held: ReadonlySet<Entry>, waiting: ReadonlySet<Entry>, cut: BodySlotsOptions['cut']): void {
  const nowMs = performance.now()
  for (const entry of held) rememberProgress(entry, nowMs)
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

/** Returns the maximum size of the body in bytes. A chunked body can have any size. */
function declaredBytes({ headers }: IncomingMessage): number {
  if (headers['transfer-encoding'] !== undefined) return Number.POSITIVE_INFINITY
  return Number(headers['content-length'] ?? 0)
}

function rememberProgress(entry: Entry, nowMs: number): void {
  const { bytesRead } = entry.request.socket
  if (bytesRead - entry.receivedBytes >= SLOW_BYTES) entry.fastMs = nowMs
  entry.receivedBytes = bytesRead
}

/** Returns the last waiting request of the client that has the most, unless `client` would have as many. */
function findCrowding(waiting: ReadonlySet<Entry>, client: string): Entry | undefined {
  const byClient = Map.groupBy(waiting, (entry) => entry.client)
  const own = byClient.get(client)?.length ?? 0
  const [most] = [...byClient.values()].sort((one, other) => other.length - one.length)
  return most !== undefined && most.length > own + 1 ? most.at(-1) : undefined
}
