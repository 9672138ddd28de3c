import type { IncomingMessage, ServerResponse } from 'node:http'
import { defineError } from '../errors/define-error.ts'
import { FairGate, type HeldSlots } from './fair-gate.ts'

export interface BodySlotsOptions {
  /**
   * Bytes that the bodies of all requests together may have. One client may have half of them, or one body of any allowed size.
   */
  readonly bytesMax: number
  readonly bodyLimit: number
  readonly patienceMs: number
  /** The client of a request, as long as its caller is not known. */
  readonly clientOf: (request: IncomingMessage) => string
  /** Cuts the connection of a request that must give way and cannot be answered. */
  readonly cut: (request: IncomingMessage) => void
}

interface Entry {
  readonly request: IncomingMessage
  /** The address, and then the caller once they are known. */
  client: string
  readonly bytes: number
  /** Until when the request may wait for a slot. */
  readonly untilMs: number
  /** Aborted to end the wait for a slot. */
  readonly waitsUntil: AbortController
  /** Bytes that the connection had received at the last check. */
  receivedBytes: number
  /** When the body was last seen to arrive fast enough. */
  fastMs: number
}

/** Smaller bodies are not counted: five hundred of them take 8 MiB. */
const SMALL_BYTES = 16 * 1_024
/** A body that gets fewer bytes between two checks is slow: the largest body would not arrive within 30 s. */
const SLOW_BYTES = 32 * 1_024
/** A request gives way only after its body has been slow for this time. */
const GRACE_MS = 2_000
/** Most requests that wait for a slot. Each of them already has one chunk of its body in memory. */
const WAITING_MAX = 64

const noSlot = defineError(503, 'no_place', 'no place for the body came free')

const leaves = new WeakMap<IncomingMessage, () => void>()
const moves = new WeakMap<IncomingMessage, (caller: string) => Promise<boolean>>()
const callers = new WeakMap<IncomingMessage, string>()
const answers = new WeakMap<IncomingMessage, () => void>()
const refused = new WeakSet<IncomingMessage>()

/** Gives up the slot of a request: its handler does not keep the body, or no longer needs it. */
export function leaveBodySlot(request: IncomingMessage): void {
  leaves.get(request)?.()
}

export function hasBodySlot(request: IncomingMessage): boolean {
  return leaves.has(request)
}

/**
 * Counts a request for its caller from now on, and no longer for its address. A caller who has no share left gives up the
 * slot for the body, which then waits unread for another one.
 * @returns whether the body may be read
 */
export async function moveBodySlot(request: IncomingMessage, caller: string): Promise<boolean> {
  callers.set(request, caller)
  return (await moves.get(request)?.(caller)) ?? true
}

/** The caller for whom a request counts. Undefined as long as the request counts for its address. */
export function callerOfRequest(request: IncomingMessage): string | undefined {
  return callers.get(request)
}

/** Whether a request got no slot for its body, so that it must be refused. */
export function hasNoBodySlot(request: IncomingMessage): boolean {
  return refused.has(request)
}

/** Sets how a request is answered if its body is slow while others need its slot. */
export function answerSlowBody(request: IncomingMessage, answer: () => void): void {
  answers.set(request, answer)
}

export interface BodySlots {
  /** Begins a request: at once if its body is small, otherwise when its body has a slot, or when the wait is over. */
  readonly enter: (request: IncomingMessage, response: ServerResponse, begin: () => void) => void
  /** Makes slow requests give way to waiting ones. Call it once a second. */
  readonly endSlow: () => void
}

/**
 * Returns slots for requests with large bodies, which handlers keep in memory until the whole body has
 * arrived. A request without a slot waits, and its body is not read. A client is an address until the
 * caller is known by a verified token or key, then the caller. Clients are served round-robin. When too many
 * requests wait, the client with the most of them is refused first. So a client with many requests does
 * not keep others out. A request with a slot gives way when its body hardly arrives.
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
      // Meanwhile the share of the address is free for its other users.
      leaveSlot()
      response.off('close', leaveSlot)
      return takeSlot({ ...entry, client: caller, waitsUntil: new AbortController() }, response)
    })
    response.once('close', leaveSlot)
  }
  /** Waits for a slot. Resolves to false when the request gets none. */
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

/** The entry of a request with a large body. Undefined for a small one, and for one that no handler keeps. */
function toEntry(request: IncomingMessage, options: BodySlotsOptions): Entry | undefined {
  const { bytesMax, bodyLimit, patienceMs, clientOf } = options
  const declared = declaredBytes(request)
  // A body that declares too many bytes is refused, or read by a handler that keeps none of it.
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

/** Makes the slowest requests give way, as many as the waiting ones need. */
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

/** Bytes that the body may have. A chunked body may have any number. */
function declaredBytes({ headers }: IncomingMessage): number {
  if (headers['transfer-encoding'] !== undefined) return Number.POSITIVE_INFINITY
  return Number(headers['content-length'] ?? 0)
}

function rememberProgress(entry: Entry, nowMs: number): void {
  const { bytesRead } = entry.request.socket
  if (bytesRead - entry.receivedBytes >= SLOW_BYTES) entry.fastMs = nowMs
  entry.receivedBytes = bytesRead
}

/** The last waiting request of the client with the most waiting requests. Undefined if this client would have as many. */
function findCrowding(waiting: ReadonlySet<Entry>, client: string): Entry | undefined {
  const byClient = Map.groupBy(waiting, (entry) => entry.client)
  const own = byClient.get(client)?.length ?? 0
  const [most] = [...byClient.values()].sort((one, other) => other.length - one.length)
  return most !== undefined && most.length > own + 1 ? most.at(-1) : undefined
}
