import type { RequestListener, Server } from 'node:http'
import type { Meter } from '@opentelemetry/api'
import type { FastifyBaseLogger } from 'fastify'
import { addressKey } from '../server/address-key.ts'
import { createServer } from '../server/node-http.ts'
import { createAddressReader, type TrustedProxies } from '../server/trusted-proxies.ts'
import { startAtZero } from '../telemetry/start-at-zero.ts'
import {
  boundConnections,
  CONNECTION_BOUNDS,
  type ConnectionBounds,
  CUT_REASONS,
  type CutReason,
} from './connection-bounds.ts'
import { createReleaseAfterCuts } from './release-memory.ts'

/** The bounds of a server. Times are in milliseconds, `bodyLimit` and `headBytesMax` are in bytes. */
export interface BoundedServerOptions {
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
