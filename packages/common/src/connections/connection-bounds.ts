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

/** The limits of what one client may occupy in the process: memory in bytes, and time in milliseconds. */
export interface ConnectionBounds {
  /** A connection is closed if its client reads no byte of an answer for this time. */
  readonly stallMs: number
  /** The time between two checks of the connections. */
  readonly checkMs: number
  /** The maximum bytes that wait for all clients. Beyond it, connections of the client with the most bytes are closed. */
  readonly waitingBytesMax: number
  /** The number of requests that a client may send on a connection before earlier ones are answered. */
  readonly pipelinedMax: number
  /** The maximum bytes of all request bodies together. Further bodies wait unread, and slow ones lose their slots. */
  readonly bodyBytesMax: number
  readonly bodyLimit: number
  readonly bodyPatienceMs: number
  /** The maximum time for the head of a request. A connection without a request is closed after the same time. */
  readonly headMs: number
  /** How often Node looks for late requests. With its default of 30 s, every limit would apply up to 30 s late. */
  readonly lateCheckMs: number
}

/** The client did not read, the server needed the memory, or the client pipelined too many requests. */
const CUT_REASONS = ['stalled', 'crowded', 'pipelined'] as const
/** The reason why a connection was closed, as in the label `reason` of `http_server_connections_cut_total`. */
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

/** The approximate memory of a waiting answer in addition to its bytes: the objects of its request, a compressor and a cursor. */
const BEHIND_ANSWER_BYTES = 32 * 1_024

type Handle = (request: IncomingMessage, response: ServerResponse) => void

interface Connection {
  readonly socket: Socket
  /** Requests that wait in the queue. */
  readonly waiting: (() => void)[]
  isAnswering: boolean
  request: IncomingMessage | undefined
  /** The progress at the last check. */
  progress: number
  /** Bytes that the kernel held at its last check. `undefined` before the first check of the kernel. */
  heldBytes: number | undefined
  /** The last time at which the client read something or nothing waited for the client. */
  sinceMs: number
}

interface BoundOptions {
  readonly bounds?: ConnectionBounds
  readonly onCut?: (reason: CutReason) => void
  /** Returns the client of a request whose caller is not known. The default is the address of the peer. */
  readonly clientOf?: (request: IncomingMessage) => string
}

interface BoundedConnections {
  /** Handles a request. The server uses this function instead of the original handler. */
  readonly handle: Handle
  /** Watches the connections of the server as soon as the server listens. */
  readonly watch: (server: Server) => void
}

/**
 * Limits memory per client. Returns the server's request handler and its watch of connections. The handler processes the requests
 * of a connection one after the other, as their answers leave in that order anyway. A client that sends a thousand requests so
 * has one answer in memory. Connections whose clients do not read are closed. If too many bytes wait, so are connections of the
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
    // With this error, the log shows that the client caused the end of the connection.
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

/** The error of a connection that the server closed because of its client. */
class ClientCutError extends Error {
  constructor(reason: CutReason) {
    super(`the connection was cut: ${reason}`)
  }
}

/** Returns whether the client has something to read: bytes, or the end of the connection. */
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

/** Handles the requests of a connection one after the other. */
function handleInOrder(handler: Handle, open: ReadonlyMap<Socket, Connection>, options: PipeliningOptions): Handle {
  const answer = (connection: Connection, request: IncomingMessage, response: ServerResponse) => {
    connection.isAnswering = true
    connection.request = request
    // Node emits `prefinish` as soon as the socket has the whole answer.
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
    // A chunk from a closed connection may contain further requests. Ignore them.
    if (connection === undefined) return
    if (!connection.isAnswering) answer(connection, request, response)
    else if (connection.waiting.length < options.pipelinedMax) {
      connection.waiting.push(() => answer(connection, request, response))
    } else options.cut(connection, 'pipelined')
  }
}

/**
 * Creates a check of the connections. Each call records which clients have read something since the last call, and closes the
 * stalled connections.
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
 * Records the progress of a connection.
 * @returns whether the client has read something since the last check, or has nothing to read
 */
function rememberProgress(connection: Connection, nowMs: number): boolean {
  const progress = progressOf(connection.socket)
  if (progress === connection.progress && hasUnreadBytes(connection.socket)) return false
  connection.progress = progress
  connection.heldBytes = undefined
  connection.sinceMs = nowMs
  return true
}

/** Records progress in the kernel: if the kernel holds fewer bytes for a client than before, the client has read something. */
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
 * The buffer size of a body that is not read, and of a stream that the client does not read. With Node's default of 64 KiB, 500
 * clients would take 32 MiB.
 */
const BUFFERED_BYTES = 16_384
/** How long a connection waits for its next request. Proxies wait less, so no proxy sends a request on a closed connection. */
const KEEP_ALIVE_MS = 72_000
const CUT_REPORT_MS = 10_000

/**
 * Creates a server that limits every client. Each part of a request and of an answer has a time limit, and the memory of each
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
      // Node would answer a missing Host header without the error body of the service. A hook answers instead.
      requireHostHeader: false,
    },
    handle,
  )
  watch(server)
  return server
}

/** Creates a function that counts closed connections. It logs their number soon, and then at most every ten seconds. */
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
    // One log line reports all connections that are closed in the same tick of the event loop.
    setTimeout(report, 0)
  }
}
