import { isUtf8 } from 'node:buffer'
import { lookup, Resolver } from 'node:dns/promises'
import { isIP, type LookupFunction, type Socket } from 'node:net'
import type { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import { createAddressRules, createNameRule, namesLoopback, type OwnHost } from './address-rules.ts'

/** A call to another server. Times are in milliseconds. `bytesMax` limits the body of the response. */
export interface OutboundRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  /** A stream is sent while it is being read. */
  readonly body?: string | Readable
  readonly timeoutMs: number
  readonly bytesMax?: number
  /** How to handle a longer response: refuse it (the default), or cut it after `bytesMax` bytes. */
  readonly beyondMax?: 'refuse' | 'cut'
  /** How to handle bytes that are not UTF-8: refuse (the default), or replace with U+FFFD, for displayed text only. */
  readonly notUtf8?: 'refuse' | 'replace'
  /** `operator`: the URL is a setting, and may name a loopback address. `data`: the URL comes from any other source. */
  readonly origin: 'operator' | 'data'
}

/** The response of another server. `body` is decoded as UTF-8. The body of a cut response may end inside a character. */
export interface OutboundAnswer {
  readonly status: number
  readonly body: string
  /** The header Content-Type, or an empty string if it is missing. */
  readonly contentType: string
  /** The header Link, which names the next page of a list (RFC 8288). */
  readonly link?: string | undefined
  /** The header ETag, which names the version of a record. */
  readonly etag?: string | undefined
  /** The header Retry-After, which says when the client may try again. */
  readonly retryAfter?: string | undefined
}

/** A response whose body is still arriving. The caller of `open` must read or destroy `body`. */
interface OutboundStream {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Readable
}

/** Calls to other servers, guarded so that they never reach the internal network. */
export interface Outbound {
  /** Returns `false` if the URL already shows that a call would be refused, because of its scheme or its address. */
  mayCall(request: Pick<OutboundRequest, 'url' | 'origin'>): boolean
  /**
   * Calls a server. It follows no redirects.
   * @throws AddressRefused if the address is not allowed; AnswerNotUtf8; Error if the server does not respond in time, or
   * responds with too many bytes
   */
  send(request: OutboundRequest): Promise<OutboundAnswer>
  /**
   * Calls a server, and passes its response on as a stream. `timeoutMs` limits the whole call. The size is not limited.
   * @throws AddressRefused if the address is not allowed; Error if the server does not respond in time
   */
  open(request: Omit<OutboundRequest, 'bytesMax' | 'beyondMax'>): Promise<OutboundStream>
}

/** The address is not allowed. A retry would fail too. */
export class AddressRefused extends Error {
  override readonly name = 'AddressRefused'
}

/** A response is not UTF-8. A decoder that replaced the invalid bytes would store a text that the server did not send. */
export class AnswerNotUtf8 extends Error {
  override readonly name = 'AnswerNotUtf8'
}

const BYTES_MAX = 1_048_576

/**
 * Creates the client for other servers. It looks up each name itself, and connects only to addresses that it has checked.
 * @param allowedHosts host names, addresses and networks (CIDR) of the internal network that the operator allows
 * @param findAddresses finds the addresses of a name; the client then checks them
 */
export function createOutbound(
  allowedHosts: readonly string[],
  findAddresses: NameLookup = createNameLookup(allowedHosts),
): Outbound {
  const isAllowed = createAddressRules(allowedHosts)
  // One agent per origin: connections of one origin must not be reused for calls of the other.
  const agents = new Map<OwnHost['origin'], Promise<Dispatcher>>()
  const agentFor = (origin: OwnHost['origin']): Promise<Dispatcher> => {
    const agent = agents.get(origin) ?? openAgent(checkedLookup(isAllowed, findAddresses, origin))
    agents.set(origin, agent)
    return agent
  }
  // A URL with an IP address needs no look-up. A `localhost` name always means this machine.
  const mayCall: Outbound['mayCall'] = ({ url, origin }) => {
    const host = hostOf(url)
    const address = isLocalhost(host) ? LOOPBACK : host
    return /^https?:/i.test(url) && (isIP(address) === 0 || isAllowed(address, { host, origin }))
  }
  const open: Outbound['open'] = async (request) => {
    if (!mayCall(request)) throw refused(hostOf(request.url))
    return begin(await agentFor(request.origin), request)
  }
  return { mayCall, open, send: async (request) => readAnswer(request, await open(request)) }
}

const LOOPBACK = '127.0.0.1'

/** Returns the host of a URL. An IPv6 address has no brackets, as in the list of allowed hosts. */
export function hostOf(url: string): string {
  return new URL(url).hostname.replace(/^\[|\]$/g, '')
}

/** Returns a lookup function that returns only allowed addresses. So the connection goes to an address that was checked. */
function checkedLookup(
  isAllowed: ReturnType<typeof createAddressRules>,
  findAddresses: NameLookup,
  origin: OwnHost['origin'],
): LookupFunction {
  return (host, options, callback) => {
    const check = (addresses: Awaited<ReturnType<NameLookup>>) => {
      const allowed = addresses.filter(({ address }) => isAllowed(address, { host, origin }))
      const [first] = allowed
      if (!first) return callback(refused(host), '', 0)
      return options.all ? callback(null, allowed) : callback(null, first.address, first.family)
    }
    findAddresses({ host, origin }).then(check, (error) => callback(error, '', 0))
  }
}

function refused(host: string): Error {
  return new AddressRefused(`the address of ${host} is not one that this service may call`)
}

/** Creates the agent on the first call, so that loading the library does not delay the start. */
async function openAgent(lookup: LookupFunction): Promise<Dispatcher> {
  const { Agent, buildConnector } = await import('undici')
  const connect = buildConnector({ lookup })
  return new Agent({
    connect: (options, callback) =>
      connect(options, (...[error, socket]) => {
        if (error) return callback(error, null)
        readAfterFailedWrites(socket)
        callback(null, socket)
      }),
  })
}

/** The errors of a write to a connection that the server has closed. */
const CLOSED_CODES: readonly unknown[] = ['EPIPE', 'ECONNRESET']

/**
 * Keeps a connection readable after the server has closed it. A server may refuse a long body early: it responds and closes the
 * connection. The next write then fails, and Node.js would close the connection before the response is read. This function leaves
 * such a write pending instead. The next read returns the response or the end of the connection, and either one ends the call.
 */
function readAfterFailedWrites(socket: Socket): void {
  const { _write: write, _writev: writeMany } = socket
  const unlessClosed = (done: WriteCallback): WriteCallback => {
    return (error) => {
      if (error && 'code' in error && CLOSED_CODES.includes(error.code)) return
      done(error)
    }
  }
  socket._write = (chunk, encoding, done) => write.call(socket, chunk, encoding, unlessClosed(done))
  socket._writev = (chunks, done) => writeMany?.call(socket, chunks, unlessClosed(done))
}

type WriteCallback = (error?: Error | null) => void

async function begin(
  dispatcher: Dispatcher,
  { method, url, headers, body, timeoutMs }: OutboundRequest,
): Promise<OutboundStream> {
  const { origin, pathname, search } = new URL(url)
  const signal = AbortSignal.timeout(timeoutMs)
  const request = dispatcher.request({
    origin,
    path: pathname + search,
    method,
    headers: headers ?? {},
    body: body ?? null,
    signal,
  })
  const answer = await untilAborted(request, signal)
  // Without this listener, a response that fails unread or is destroyed would end the process. A reader still gets the error.
  answer.body.on('error', () => {})
  return { status: answer.statusCode, headers: answer.headers, body: answer.body }
}

/** Needed because undici checks `signal` only after a connection is open. @throws the reason of `signal` */
async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>()
  const abort = () => aborted.reject(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await Promise.race([work, aborted.promise])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

async function readAnswer(
  { url, bytesMax = BYTES_MAX, beyondMax = 'refuse', notUtf8 = 'refuse' }: OutboundRequest,
  answer: OutboundStream,
): Promise<OutboundAnswer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of answer.body) {
    size += chunk.length
    chunks.push(chunk)
    if (size <= bytesMax) continue
    if (beyondMax === 'refuse') throw new Error(`${new URL(url).origin} answered more than ${bytesMax} bytes`)
    break
  }
  const bytes = Buffer.concat(chunks)
  if (notUtf8 === 'refuse' && size <= bytesMax && !isUtf8(bytes)) {
    throw new AnswerNotUtf8(`${new URL(url).origin} answered bytes that are not UTF-8`)
  }
  const { 'content-type': contentType = '', link, etag, 'retry-after': retryAfter } = answer.headers
  return {
    status: answer.status,
    body: bytes.subarray(0, bytesMax).toString('utf8'),
    contentType: String(contentType),
    link: link?.toString(),
    etag: etag?.toString(),
    retryAfter: retryAfter?.toString(),
  }
}

interface ResolvedAddress {
  readonly address: string
  readonly family: number
}

/** Finds the addresses of the host of a URL. @throws Error with a `code` if there are none, or none in time */
export type NameLookup = (own: OwnHost) => Promise<readonly ResolvedAddress[]>

/** Less than the five-second limit of a webhook call, so that enough time remains for the call itself. */
const LOOKUP_MS = 3_000
/** The time after which the resolver repeats the question or uses the next name server. The second try waits twice as long. */
const FIRST_TRY_MS = 1_000
const TRIES = 2

/**
 * Creates a function that looks up names in one of two ways.
 *
 * A name from a setting, or one that the operator allows by name, is looked up by the system (`getaddrinfo`). The system knows
 * the hosts file, search domains and the names of a container network. Such a look-up blocks a thread of Node's pool until it
 * ends. If the name server does not answer, this takes ten seconds or more, even if the caller no longer waits. The pool has few
 * threads, and file access needs them too.
 *
 * Any other name comes from data, such as the URL of a merchant's webhook. The owner of a name chooses its name server, so a few
 * silent name servers could block the process. These names are therefore looked up by c-ares, which needs no thread. c-ares does
 * not use the hosts file and search domains. If a name needs them, the list of allowed hosts must contain the name itself. An
 * entry for its network is not enough.
 * @param servers the name servers for c-ares; by default those of the system
 */
export function createNameLookup(
  allowedHosts: readonly string[],
  { servers, lookupMs = LOOKUP_MS }: { readonly servers?: readonly string[]; readonly lookupMs?: number } = {},
): NameLookup {
  const isNamed = createNameRule(allowedHosts)
  return ({ host, origin }) => {
    if (origin === 'operator' || isNamed(host) || isLocalhost(host)) return lookup(host, { all: true })
    // A resolver reads the name servers only when created (30 µs). A new one notices changes.
    const resolver = new Resolver({ timeout: FIRST_TRY_MS, tries: TRIES })
    if (servers) resolver.setServers(servers)
    return askNameServers(resolver, host, lookupMs)
  }
}

/** Returns whether a name always means this machine (RFC 6761). */
function isLocalhost(host: string): boolean {
  return /(?:^|\.)localhost\.?$/i.test(host)
}

/** Returns the IPv4 and IPv6 addresses. If the look-up of one family fails, the addresses of the other family are enough. */
async function askNameServers(resolver: Resolver, host: string, lookupMs: number): Promise<ResolvedAddress[]> {
  // Limit the time, because the total timeout of c-ares grows with the number of name servers.
  const timer = setTimeout(() => resolver.cancel(), lookupMs)
  const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
  clearTimeout(timer)
  // Put IPv4 first, because many containers have no IPv6 and a connection tries the families in order.
  const addresses = answers.flatMap((answer, at) =>
    answer.status === 'fulfilled' ? answer.value.map((address) => ({ address, family: at === 0 ? 4 : 6 })) : [],
  )
  if (addresses.length > 0) return addresses
  const codes = answers.flatMap((answer) => (answer.status === 'rejected' ? [toCode(answer.reason)] : []))
  throw new NameLookupFailed(host, codes.find((code) => code !== 'ENOTFOUND') ?? 'ENOTFOUND')
}

/** The codes of `getaddrinfo`, which callers know, and ETIMEOUT of c-ares for a name server that does not answer. */
type FailureCode = 'ENOTFOUND' | 'EAI_AGAIN' | 'ETIMEOUT'

const CODES: Readonly<Record<string, FailureCode>> = {
  ENOTFOUND: 'ENOTFOUND',
  ENODATA: 'ENOTFOUND',
  EBADNAME: 'ENOTFOUND',
  ETIMEOUT: 'ETIMEOUT',
  ECANCELLED: 'ETIMEOUT',
}

function toCode(reason: unknown): FailureCode {
  return (reason instanceof Error && 'code' in reason && CODES[String(reason.code)]) || 'EAI_AGAIN'
}

/** The name servers have returned no address. */
class NameLookupFailed extends Error {
  override readonly name = 'NameLookupFailed'
  readonly code: FailureCode

  constructor(host: string, code: FailureCode) {
    super(`look-up of ${host}: ${code}`)
    this.code = code
  }
}

const FORGED_KEYS = 'replace the keys, and sign tokens for anybody'

/**
 * Returns a warning if something that must stay secret or unchanged is sent to or from another machine without TLS. The default
 * warning is about keys that verify tokens. The warning does not prevent a start, because plain HTTP is common inside the network
 * of a cluster.
 * @param setting the full name of the setting
 * @param risk what anyone on the network path can do
 */
export function plainHttpWarnings(setting: string, url: string | undefined, risk = FORGED_KEYS): readonly string[] {
  if (url === undefined || !/^http:/i.test(url) || namesLoopback(hostOf(url))) return []
  return [`${setting} is http:// and not on this machine: anyone on the network path can ${risk}`]
}
