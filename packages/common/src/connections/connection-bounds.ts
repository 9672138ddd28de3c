import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Meter } from '@opentelemetry/api'
import type { FastifyBaseLogger } from 'fastify'
import { callerOfRequest, createBodySlots } from '../capacity/body-slots.ts'
import { addressKey } from '../server/address-key.ts'
import { createServer } from '../server/node-http.ts'
import { createAddressReader, type TrustedProxies } from '../server/trusted-proxies.ts'
import { startAtZero } from '../telemetry/start-at-zero.ts'
import { createReleaseAfterCuts } from './release-memory.ts'
import { countUnacknowledgedBytes, findCrowding, progressOf } from './slow-clients.ts'

/** How much of the process a client may occupy, in bytes, and for how long, in milliseconds. */
export interface ConnectionBounds {
  /** A connection is cut when its client reads no byte of an answer for this time. */
  readonly stallMs: number
  /** Time between two checks of the connections. */
  readonly checkMs: number
  /**
   * Bytes that may wait for all clients together. Beyond them, connections of the client with the most waiting bytes are cut.
   */
  readonly waitingBytesMax: number
  /** Requests that a client may send on a connection before earlier ones are answered. */
  readonly pipelinedMax: number
  /** Bytes that the bodies of all requests may have together. Further bodies wait unread, and slow ones give way to them. */
  readonly bodyBytesMax: number
  readonly bodyLimit: number
  readonly bodyPatienceMs: number
  /** How long the head of a request may take to arrive. A connection without a request is closed after the same time. */
  readonly headMs: number
  /** How often Node looks for late requests. Its default of 30 s would add up to 30 s to every limit. */
  readonly lateCheckMs: number
}

/** Why a connection was cut: its client did not read, the memory was needed, or it sent too many requests ahead. */
const CUT_REASONS = ['stalled', 'crowded', 'pipelined'] as const
/** Why a connection was cut, as the label `reason` of `http_server_connections_cut_total` shows it. */
type CutReason = (typeof CUT_REASONS)[number]

const CONNECTION_BOUNDS: ConnectionBounds = {
  stallMs: 30_000,
  checkMs: 1_000,
  waitingBytesMax: 8 * 1_024 * 1_024,
  pipelinedMax: 16,
  bodyBytesMax: 4 * 1_024 * 1_024,
  bodyLimit: 1_024 * 1_024,
  bodyPatienceMs: 10_000,
  headMs: 10_000,
  lateCheckMs: 1_000,
}

/** Memory of a waiting answer in addition to its bytes, roughly: the objects of its request, a compressor, a cursor. */
const BEHIND_ANSWER_BYTES = 32 * 1_024

type Handle = (request: IncomingMessage, response: ServerResponse) => void

interface Connection {
  readonly socket: Socket
  /** Requests that wait in the queue. */
  readonly waiting: (() => void)[]
  isAnswering: boolean
  request: IncomingMessage | undefined
  /** At the last check. */
  progress: number
  /** Bytes that the kernel held at the last check. Undefined before the first check of the kernel. */
  heldBytes: number | undefined
  /** When the client last read something, or when nothing waited for it. */
  sinceMs: number
}

interface BoundOptions {
  readonly bounds?: ConnectionBounds
  readonly onCut?: (reason: CutReason) => void
  /** The client of a request whose caller is not known. By default the address of the peer. */
  readonly clientOf?: (request: IncomingMessage) => string
}

interface BoundedConnections {
  /** Handles a request instead of the handler. */
  readonly handle: Handle
  /** Watches the connections of the server as soon as it listens. */
  readonly watch: (server: Server) => void
}

/**
 * Limits memory per client. Returns the server's request handler and connection listener. It handles the requests of a
 * connection one after the other, since their answers leave in that order anyway: a client that sends a thousand requests has
 * one answer in memory. It cuts connections whose clients do not read, and, when too many bytes wait, connections of the
 * clients with the most waiting bytes.
 */
export function boundConnections(handler: Handle, options: BoundOptions = {}): BoundedConnections {
  const {
    bounds = CONNECTION_BOUNDS,
    onCut = () => {},
    clientOf = ({ socket }) => socket.remoteAddress ?? '',
  } = options
  const open = new Map<Socket, Connection>()
  const cut = (connection: Connection, reason: CutReason) => {
    // The error marks the client as the cause in the log.
    connection.socket.destroy(new ClientCutError(reason))
    open.delete(connection.socket)
    onCut(reason)
  }
  const cutCrowding = () => {
    const owing = [...open.values()].filter(({ socket }) => hasUnreadBytes(socket))
    if (owing.reduce((sum, { socket }) => sum + costOf(socket), 0) <= bounds.waitingBytesMax) return
    const nowMs = performance.now()
    for (const connection of owing) rememberProgress(connection, nowMs)
    const seen = owing.map((connection) => {
      const { socket, request, sinceMs } = connection
      const client = request ? (callerOfRequest(request) ?? clientOf(request)) : ''
      return { connection, client, bytes: costOf(socket), sinceMs }
    })
    for (const { connection } of findCrowding(seen, bounds.waitingBytesMax)) cut(connection, 'crowded')
  }
  const bodies = createBodySlots({
    bytesMax: bounds.bodyBytesMax,
    bodyLimit: bounds.bodyLimit,
    patienceMs: bounds.bodyPatienceMs,
    clientOf,
    cut: ({ socket }) => {
      const connection = open.get(socket)
      if (connection !== undefined) cut(connection, 'crowded')
    },
  })
  const handleWithSlot: Handle = (request, response) =>
    bodies.enter(request, response, () => handler(request, response))
  return {
    handle: handleInOrder(handleWithSlot, open, { pipelinedMax: bounds.pipelinedMax, cut, cutCrowding }),
    watch: (server: Server): void => {
      server.on('connection', (socket) => {
        open.set(socket, openConnection(socket))
        socket.once('close', () => open.delete(socket))
      })
      const checkReading = createReadingCheck(open, bounds, (connection) => cut(connection, 'stalled'))
      server.once('listening', () => {
        const timer = setInterval(() => {
          checkReading()
          cutCrowding()
          bodies.endSlow()
        }, bounds.checkMs).unref()
        server.once('close', () => clearInterval(timer))
      })
    },
  }
}

function openConnection(socket: Socket): Connection {
  const sinceMs = performance.now()
  return { socket, waiting: [], isAnswering: false, request: undefined, progress: 0, heldBytes: undefined, sinceMs }
}

/** The error of a connection that this side has cut because of its client. */
class ClientCutError extends Error {
  constructor(reason: CutReason) {
    super(`the connection was cut: ${reason}`)
  }
}

/** Whether the client has something to read: bytes, or the end of the connection. */
function hasUnreadBytes({ destroyed, writableLength, writableEnded }: Socket): boolean {
  return !destroyed && (writableLength > 0 || writableEnded)
}

function costOf({ writableLength }: Socket): number {
  return writableLength + BEHIND_ANSWER_BYTES
}

interface PipeliningOptions {
  readonly pipelinedMax: number
  readonly cut: (connection: Connection, reason: CutReason) => void
  readonly cutCrowding: () => void
}

/** Handles one request of a connection at a time. */
function handleInOrder(handler: Handle, open: ReadonlyMap<Socket, Connection>, options: PipeliningOptions): Handle {
  const answer = (connection: Connection, request: IncomingMessage, response: ServerResponse) => {
    connection.isAnswering = true
    connection.request = request
    // `prefinish` is emitted as soon as the whole answer is handed to the socket.
    response.once('prefinish', () => {
      if (connection.socket.writableLength > 0) options.cutCrowding()
    })
    response.once('close', () => {
      connection.isAnswering = false
      if (!connection.socket.destroyed) connection.waiting.shift()?.()
    })
    handler(request, response)
  }
  return (request, response) => {
    const connection = open.get(request.socket)
    // A chunk of a connection that was cut may contain further requests.
    if (connection === undefined) return
    if (!connection.isAnswering) answer(connection, request, response)
    else if (connection.waiting.length < options.pipelinedMax) {
      connection.waiting.push(() => answer(connection, request, response))
    } else options.cut(connection, 'pipelined')
  }
}

/**
 * Creates a check of the connections. Each call remembers which clients have read something since the last one, and cuts
 * those that have stalled.
 */
function createReadingCheck(
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
      if (rememberProgress(connection, nowMs)) continue
      if (nowMs - connection.sinceMs >= stallMs) cut(connection)
      else if (nowMs - connection.sinceMs >= stallMs / 3) doubtful.push(connection)
    }
    if (doubtful.length === 0 || nowMs - askedMs < askMs) return
    askedMs = nowMs
    void rememberKernelProgress(doubtful)
  }
}

/**
 * Remembers the progress of a connection. @returns whether the client has read something since the last check, or has nothing to
 * read
 */
function rememberProgress(connection: Connection, nowMs: number): boolean {
  const progress = progressOf(connection.socket)
  if (progress === connection.progress && hasUnreadBytes(connection.socket)) return false
  connection.progress = progress
  connection.heldBytes = undefined
  connection.sinceMs = nowMs
  return true
}

/** Also counts as progress: the kernel holds fewer bytes for a client than at its last check. */
async function rememberKernelProgress(doubtful: readonly Connection[]): Promise<void> {
  const held = await countUnacknowledgedBytes(doubtful.map(({ socket }) => socket))
  for (const connection of doubtful) {
    const [before, now] = [connection.heldBytes, held.get(connection.socket)]
    connection.heldBytes = now
    if (before !== undefined && now !== undefined && now < before) connection.sinceMs = performance.now()
  }
}

interface BoundedServerOptions {
  readonly logger: FastifyBaseLogger
  readonly meter?: Meter
  readonly connections?: Partial<ConnectionBounds>
  readonly bodyLimit: number
  readonly headBytesMax?: number
  readonly handlerTimeoutMs: number
  readonly requestTimeoutMs?: number
  readonly trustedProxies?: TrustedProxies | undefined
}

const HEAD_BYTES_MAX = 16_384
/**
 * Buffer for a body that is not read, and for a stream that the client does not read. Node's default of 64 KiB would take 32
 * MiB for 500 clients.
 */
const BUFFERED_BYTES = 16_384
/**
 * How long a connection waits for its next request. Proxies wait less, so that no proxy sends a request to a closed connection.
 */
const KEEP_ALIVE_MS = 72_000
const CUT_REPORT_MS = 10_000

/**
 * Returns a server that bounds every client: each part of a request and of an answer has a time limit, and the memory of each
 * client is limited.
 */
export function boundedServer(options: BoundedServerOptions, handler: RequestListener): Server {
  const bounds = { ...CONNECTION_BOUNDS, bodyLimit: options.bodyLimit, ...options.connections }
  const report = createCutReport(options)
  const releaseSoon = createReleaseAfterCuts()
  const readAddress = createAddressReader(options.trustedProxies ?? 0)
  const { handle, watch } = boundConnections(handler, {
    bounds,
    onCut: (reason) => {
      report(reason)
      releaseSoon()
    },
    clientOf: ({ socket, headers }) =>
      addressKey(readAddress(socket.remoteAddress, headers['x-forwarded-for']?.toString())),
  })
  const server = createServer(
    {
      maxHeaderSize: options.headBytesMax ?? HEAD_BYTES_MAX,
      highWaterMark: BUFFERED_BYTES,
      headersTimeout: bounds.headMs,
      requestTimeout: options.requestTimeoutMs ?? options.handlerTimeoutMs + bounds.headMs,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connectionsCheckingInterval: bounds.lateCheckMs,
      // Node would answer a missing Host header itself, without the envelope. A hook does it.
      requireHostHeader: false,
    },
    handle,
  )
  watch(server)
  return server
}

/** Creates a report that counts the connections that are cut, and logs their number soon, then at most every ten seconds. */
function createCutReport({ meter, logger }: BoundedServerOptions): (reason: CutReason) => void {
  const counter = meter?.createCounter('http_server_connections_cut_total', {
    description: 'Connections that were cut because of what their clients did, by the reason',
  })
  if (counter !== undefined) {
    const series = CUT_REASONS.map((reason) => ({ reason }))
    startAtZero(counter, series)
  }
  let counts: Partial<Record<CutReason, number>> = {}
  let isWaiting = false
  const report = () => {
    isWaiting = Object.keys(counts).length > 0
    if (!isWaiting) return
    logger.warn(counts, 'connections were cut: their clients did not take what they had asked for')
    counts = {}
    setTimeout(report, CUT_REPORT_MS).unref()
  }
  return (reason) => {
    counter?.add(1, { reason })
    counts[reason] = (counts[reason] ?? 0) + 1
    if (isWaiting) return
    isWaiting = true
    // One line reports all connections that are cut in the same tick of the event loop.
    setTimeout(report, 0)
  }
}
