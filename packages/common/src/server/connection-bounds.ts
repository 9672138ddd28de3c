import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { createBodyPlaces } from './body-places.ts'
import { findCrowding, progressOf, unacknowledgedBytes } from './slow-clients.ts'

/** How much a client may leave in the process, and for how long. */
export interface ConnectionBounds {
  /** A connection is cut when its client takes no byte of an answer for so many milliseconds. */
  readonly stallMs: number
  /** How often the connections are looked at, in milliseconds. */
  readonly sweepMs: number
  /** Bytes that may wait for all clients together. Beyond them, those for which most waits are cut. */
  readonly waitingBytesMax: number
  /** Requests that a client may have sent before their turn has come. */
  readonly pipelinedMax: number
  /** Bytes that the bodies of all requests may have together; more wait unread, and slow ones give way to them. */
  readonly bodyBytesMax: number
  /** Bytes that one body may have. */
  readonly bodyLimit: number
  /** How long a body waits for its place, in milliseconds. */
  readonly bodyPatienceMs: number
  /** Time that the head of a request may take to arrive, in milliseconds. A connection that says nothing is closed after as long. */
  readonly headMs: number
  /** How often Node looks for requests that are late, in milliseconds. Its own 30 s would add as much to every limit. */
  readonly lateCheckMs: number
}

/** Why a connection was cut: its client took nothing, the memory was needed, or it sent too much ahead. */
export const CUT_REASONS = ['stalled', 'crowded', 'pipelined'] as const
export type CutReason = (typeof CUT_REASONS)[number]

export const CONNECTION_BOUNDS: ConnectionBounds = {
  stallMs: 30_000,
  sweepMs: 1_000,
  waitingBytesMax: 8 * 1_024 * 1_024,
  pipelinedMax: 16,
  bodyBytesMax: 4 * 1_024 * 1_024,
  bodyLimit: 1_024 * 1_024,
  bodyPatienceMs: 10_000,
  headMs: 10_000,
  lateCheckMs: 1_000,
}

/** What stands behind an answer that waits: the objects of its request, a compressor, a cursor. Bytes, roughly. */
const BEHIND_ANSWER_BYTES = 32 * 1_024

type Handle = (request: IncomingMessage, response: ServerResponse) => void

/** What is known of a connection. */
interface Connection {
  readonly socket: Socket
  /** Requests whose turn has not come. */
  readonly waiting: (() => void)[]
  isAnswering: boolean
  /** The last one that began. */
  request: IncomingMessage | undefined
  /** At the last look. */
  progress: number
  /** What the kernel held then; undefined before it was asked. */
  held: number | undefined
  /** When the client has last taken something, or was last owed nothing. */
  sinceMs: number
}

export interface BoundedHandler {
  /** Takes the place of the handler. */
  readonly handle: Handle
  /** Watches the connections of the server from the time at which it listens. */
  readonly watch: (server: Server) => void
}

export interface BoundOptions {
  readonly bounds?: ConnectionBounds
  /** Told of each connection that is cut. */
  readonly onCut?: (reason: CutReason) => void
  /** Whose request it is; by default the peer's. */
  readonly clientOf?: (request: IncomingMessage) => string
}

/**
 * Bounds what clients can make the process keep. Requests of one connection are handled one after the other, since their
 * answers leave in that order anyway: whoever sends a thousand ahead has one answer in memory. Connections whose clients take
 * nothing are cut, and, when too much waits, those for whom most waits.
 */
export function boundConnections(handler: Handle, options: BoundOptions = {}): BoundedHandler {
  const {
    bounds = CONNECTION_BOUNDS,
    onCut = () => {},
    clientOf = ({ socket }) => socket.remoteAddress ?? '',
  } = options
  const open = new Map<Socket, Connection>()
  const cut = (connection: Connection, reason: CutReason) => {
    // With an error, for the log to tell that the client is to blame.
    connection.socket.destroy(new ClientCutError(reason))
    open.delete(connection.socket)
    onCut(reason)
  }
  const makeRoom = () => {
    const owing = [...open.values()].filter(({ socket }) => isOwing(socket))
    if (owing.reduce((sum, { socket }) => sum + costOf(socket), 0) <= bounds.waitingBytesMax) return
    const nowMs = performance.now()
    for (const connection of owing) noteProgress(connection, nowMs)
    const seen = owing.map((connection) => {
      const { socket, request, sinceMs } = connection
      return { connection, client: request ? clientOf(request) : '', bytes: costOf(socket), sinceMs }
    })
    for (const { connection } of findCrowding(seen, bounds.waitingBytesMax)) cut(connection, 'crowded')
  }
  const bodies = createBodyPlaces({
    bytesMax: bounds.bodyBytesMax,
    bodyLimit: bounds.bodyLimit,
    patienceMs: bounds.bodyPatienceMs,
    clientOf,
    cut: ({ socket }) => {
      const connection = open.get(socket)
      if (connection !== undefined) cut(connection, 'crowded')
    },
  })
  const handleWithPlace: Handle = (request, response) =>
    bodies.enter(request, response, () => handler(request, response))
  return {
    handle: takeTurns(handleWithPlace, open, { pipelinedMax: bounds.pipelinedMax, cut, makeRoom }),
    watch: (server) => {
      server.on('connection', (socket) => {
        const sinceMs = performance.now()
        open.set(socket, {
          socket,
          waiting: [],
          isAnswering: false,
          request: undefined,
          progress: 0,
          held: undefined,
          sinceMs,
        })
        socket.once('close', () => open.delete(socket))
      })
      const sweep = createSweep(open, bounds, (connection) => cut(connection, 'stalled'))
      server.once('listening', () => {
        const timer = setInterval(() => {
          sweep()
          makeRoom()
          bodies.sweep()
        }, bounds.sweepMs).unref()
        server.once('close', () => clearInterval(timer))
      })
    },
  }
}

/** The end of a connection that this side has cut because of its client. */
class ClientCutError extends Error {
  constructor(reason: CutReason) {
    super(`the connection was cut: ${reason}`)
  }
}

/** Whether something waits for the client: bytes, or to see that this side has ended. */
function isOwing({ destroyed, writableLength, writableEnded }: Socket): boolean {
  return !destroyed && (writableLength > 0 || writableEnded)
}

function costOf({ writableLength }: Socket): number {
  return writableLength + BEHIND_ANSWER_BYTES
}

interface TurnOptions {
  readonly pipelinedMax: number
  readonly cut: (connection: Connection, reason: CutReason) => void
  readonly makeRoom: () => void
}

/** Handles one request of a connection at a time. */
function takeTurns(handler: Handle, open: ReadonlyMap<Socket, Connection>, options: TurnOptions): Handle {
  const answer = (connection: Connection, request: IncomingMessage, response: ServerResponse) => {
    connection.isAnswering = true
    connection.request = request
    // Emitted as soon as all of the answer is handed to the socket.
    response.once('prefinish', () => {
      if (connection.socket.writableLength > 0) options.makeRoom()
    })
    response.once('close', () => {
      connection.isAnswering = false
      if (!connection.socket.destroyed) connection.waiting.shift()?.()
    })
    handler(request, response)
  }
  return (request, response) => {
    const connection = open.get(request.socket)
    // What a chunk of a cut connection still had in it.
    if (connection === undefined) return
    if (!connection.isAnswering) answer(connection, request, response)
    else if (connection.waiting.length < options.pipelinedMax) {
      connection.waiting.push(() => answer(connection, request, response))
    } else options.cut(connection, 'pipelined')
  }
}

/** Looks at the connections: finds those whose client has taken something since the last time, and cuts the stalled ones. */
function createSweep(
  open: ReadonlyMap<Socket, Connection>,
  { stallMs }: ConnectionBounds,
  cut: (connection: Connection) => void,
): () => void {
  const askMs = stallMs / 6
  let askedMs = Number.NEGATIVE_INFINITY
  return () => {
    const nowMs = performance.now()
    const doubtful: Connection[] = []
    for (const connection of open.values()) {
      if (noteProgress(connection, nowMs)) continue
      if (nowMs - connection.sinceMs >= stallMs) cut(connection)
      else if (nowMs - connection.sinceMs >= stallMs / 3) doubtful.push(connection)
    }
    if (doubtful.length === 0 || nowMs - askedMs < askMs) return
    askedMs = nowMs
    void askKernel(doubtful)
  }
}

/** Whether the client has taken something since the last look, or is owed nothing. */
function noteProgress(connection: Connection, nowMs: number): boolean {
  const progress = progressOf(connection.socket)
  if (progress === connection.progress && isOwing(connection.socket)) return false
  connection.progress = progress
  connection.held = undefined
  connection.sinceMs = nowMs
  return true
}

/** Takes it as progress when the kernel holds less for a client than at the last time that it was asked. */
async function askKernel(doubtful: readonly Connection[]): Promise<void> {
  const held = await unacknowledgedBytes(doubtful.map(({ socket }) => socket))
  for (const connection of doubtful) {
    const [before, now] = [connection.held, held.get(connection.socket)]
    connection.held = now
    if (before !== undefined && now !== undefined && now < before) connection.sinceMs = performance.now()
  }
}
