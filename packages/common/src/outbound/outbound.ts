import { isUtf8 } from 'node:buffer'
import { lookup, Resolver } from 'node:dns/promises'
import { isIP, type LookupFunction, type Socket } from 'node:net'
import type { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import { createAddressRules, createNameRule, namesLoopback, type OwnHost } from './address-rules.ts'

/** A call to another server. Times are in milliseconds, `bytesMax` counts the body of the answer. */
export interface OutboundRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  /** A stream is sent as it comes. */
  readonly body?: string | Readable
  readonly timeoutMs: number
  readonly bytesMax?: number
  /** How a longer answer is handled: it is refused (the default), or cut after this many bytes. */
  readonly beyondMax?: 'refuse' | 'cut'
  /** How bytes that are not UTF-8 are handled: the answer is refused (the default), or U+FFFD replaces them in a shown text. */
  readonly notUtf8?: 'refuse' | 'replace'
  /** `operator`: the URL is a setting, and may name a loopback address. `data`: the URL comes from elsewhere. */
  readonly origin: 'operator' | 'data'
}

/** The answer of another server. `body` is decoded as UTF-8. One that was cut may end within a character. */
export interface OutboundAnswer {
  readonly status: number
  readonly body: string
  /** The header. Empty when it is missing. */
  readonly contentType: string
  /** The header, which names the next page of a list (RFC 8288). Undefined when it is missing. */
  readonly link?: string | undefined
  /** The header, which names the version of a record. Undefined when it is missing. */
  readonly etag?: string | undefined
  /** The header, which says when the server wants to be asked again. Undefined when it is missing. */
  readonly retryAfter?: string | undefined
}

/** The answer of another server while it comes. The caller that opens it reads or destroys `body`. */
interface OutboundStream {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Readable
}

/** Calls to other servers, which never reach the internal network. */
export interface Outbound {
  /** False when the URL alone shows that a call would be refused, by its scheme or by an address in it. */
  mayCall(request: Pick<OutboundRequest, 'url' | 'origin'>): boolean
  /**
   * Calls a server. It follows no redirects.
   * @throws AddressRefused when the address is not allowed; AnswerNotUtf8; Error when the server does not answer in time, or
   * answers too much
   */
  send(request: OutboundRequest): Promise<OutboundAnswer>
  /**
   * Calls a server, and reads its answer as it comes. `timeoutMs` bounds all of it, and no limit its size.
   * @throws AddressRefused when the address is not allowed; Error when the server does not answer in time
   */
  open(request: Omit<OutboundRequest, 'bytesMax' | 'beyondMax'>): Promise<OutboundStream>
}

/** The address is not allowed. A repeat of the call would fail too. */
export class AddressRefused extends Error {
  override readonly name = 'AddressRefused'
}

/** An answer is not in UTF-8. A decoder that replaces its bytes would store other texts than the server has sent. */
export class AnswerNotUtf8 extends Error {
  override readonly name = 'AnswerNotUtf8'
}

const BYTES_MAX = 1_048_576

/**
 * Makes calls to other servers. It looks up each name itself, and connects only to the addresses that it has checked.
 * @param allowedHosts host names, addresses and networks (CIDR) of the internal network that the operator allows
 * @param findAddresses finds the addresses of a name, before they are checked
 */
export function createOutbound(
  allowedHosts: readonly string[],
  findAddresses: NameLookup = createNameLookup(allowedHosts),
): Outbound {
  const isAllowed = createAddressRules(allowedHosts)
  // A connection that is kept open was checked for one origin. Calls of the other origin must not use it.
  const agents = new Map<OwnHost['origin'], Promise<Dispatcher>>()
  const agentFor = (origin: OwnHost['origin']): Promise<Dispatcher> => {
    const agent = agents.get(origin) ?? openAgent(checkedLookup(isAllowed, findAddresses, origin))
    agents.set(origin, agent)
    return agent
  }
  // A URL with an address needs no lookup, and neither does a name that is this machine's by definition.
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

/** The host of a URL. An IPv6 address has no brackets, as in the list of allowed hosts. */
export function hostOf(url: string): string {
  return new URL(url).hostname.replace(/^\[|\]$/g, '')
}

/** Looks up a name and returns only allowed addresses, so the connection goes to an address that was checked. */
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

/** Loaded with the first call, so that no start waits for the library. */
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
 * Lets a connection be read to its end after the server has closed it. A server may refuse a long body at its
 * beginning: it answers and closes, so the next write fails, and Node.js would end the connection with the
 * answer unread. Such a write stays open instead. What is read next is the answer or the end of the
 * connection, and each of them ends the call.
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
  // An answer that breaks without a reader, or is destroyed unread, must not end the process. A reader gets the error too.
  answer.body.on('error', () => {})
  return { status: answer.statusCode, headers: answer.headers, body: answer.body }
}

/** Stops waiting when `signal` aborts: undici looks at it only once a connection is open. @throws the reason of `signal` */
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

/** Finds the addresses of the host that a URL names. @throws Error with a `code` when there are none, or none in time */
export type NameLookup = (own: OwnHost) => Promise<readonly ResolvedAddress[]>

/** Less than the five seconds of a webhook, so that an address that was found in time can still be called. */
const LOOKUP_MS = 3_000
/** After this time a name server is asked again, or the next one is. The second try waits twice as long. */
const FIRST_TRY_MS = 1_000
const TRIES = 2

/**
 * Looks names up in one of two ways.
 *
 * A name of a setting, and one that the operator allows by name, is looked up by the system (`getaddrinfo`), which
 * knows the hosts file, search domains and the names of a container network. Such a look-up holds a thread of
 * Node's pool until it ends, ten seconds or more where the name server does not answer, also when no caller waits any
 * more. The pool has few threads, and file accesses of the process need them too.
 *
 * The owner of a name chooses its name server. So any other name that data holds, such as that of a merchant's
 * webhook, is looked up by c-ares, without a thread: a few silent name servers would stop the process otherwise.
 * c-ares is asked without the hosts file and search domains. A name that needs them must be in the list of allowed
 * hosts itself, because its network is not enough.
 * @param servers the name servers for c-ares. Default: those of the system
 */
export function createNameLookup(
  allowedHosts: readonly string[],
  { servers, lookupMs = LOOKUP_MS }: { readonly servers?: readonly string[]; readonly lookupMs?: number } = {},
): NameLookup {
  const isNamed = createNameRule(allowedHosts)
  return ({ host, origin }) => {
    if (origin === 'operator' || isNamed(host) || isLocalhost(host)) return lookup(host, { all: true })
    // A resolver reads the name servers when it is made, so a new one notices changed ones. Making it takes some 30 µs.
    const resolver = new Resolver({ timeout: FIRST_TRY_MS, tries: TRIES })
    if (servers) resolver.setServers(servers)
    return askNameServers(resolver, host, lookupMs)
  }
}

/** Whether a name means this machine wherever it is looked up (RFC 6761). */
function isLocalhost(host: string): boolean {
  return /(?:^|\.)localhost\.?$/i.test(host)
}

/** Returns the addresses of both families. Those of one are enough where the name servers do not answer for the other. */
async function askNameServers(resolver: Resolver, host: string, lookupMs: number): Promise<ResolvedAddress[]> {
  // The time of c-ares grows with the number of name servers.
  const timer = setTimeout(() => resolver.cancel(), lookupMs)
  const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
  clearTimeout(timer)
  // IPv4 comes first: many containers have no IPv6, and a connection tries the families in turn.
  const addresses = answers.flatMap((answer, at) =>
    answer.status === 'fulfilled' ? answer.value.map((address) => ({ address, family: at === 0 ? 4 : 6 })) : [],
  )
  if (addresses.length > 0) return addresses
  const codes = answers.flatMap((answer) => (answer.status === 'rejected' ? [toCode(answer.reason)] : []))
  throw new NameLookupFailed(host, codes.find((code) => code !== 'ENOTFOUND') ?? 'ENOTFOUND')
}

/** The codes of `getaddrinfo` where it has one, because callers know them. c-ares alone reports a name server that does not answer. */
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
 * Returns a warning when something that must stay secret or unchanged travels to or from another machine without TLS. By
 * default the warning is about keys that verify tokens. It does not stop a start: plain HTTP is common inside the network of a
 * cluster.
 * @param setting the full name of the setting
 * @param risk what anyone on the network path can do
 */
export function plainHttpWarnings(setting: string, url: string | undefined, risk = FORGED_KEYS): readonly string[] {
  if (url === undefined || !/^http:/i.test(url) || namesLoopback(hostOf(url))) return []
  return [`${setting} is http:// and not on this machine: anyone on the network path can ${risk}`]
}
