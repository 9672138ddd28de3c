import { fromWebStream } from '../answers/byte-stream.ts'
import type { ResponseState } from '../answers/response-state.ts'
import { type Keywords, parseUrlEncoded } from '../binding/keywords.ts'
import { type BodySource, decodeUtf8, limitedStream, tooLarge } from '../body/body-source.ts'
import { type JsonCodec, parseJson } from '../body/json.ts'
import { parseMediaType } from '../body/media-type.ts'
import { type FormPart, formParts, type MultipartLimits } from '../body/multipart.ts'
import { CallError } from '../errors.ts'
import type { Target } from '../routing/target.ts'
import type { ControllerApplication } from './controller-application.ts'
import { type Credentials, parseCredentials, preferredRange, preferredType } from './header-fields.ts'
import type { Incoming, RawRequest } from './incoming.ts'
import { buildRequestUrl, type RequestUrl } from './request-url.ts'
import { type FoundHandler, RouteInfo } from './route-info.ts'

/** The application that serves a request, and its settings that bound how the request is read. */
export interface RequestHost {
  readonly application: ControllerApplication
  readonly settings: {
    readonly requestIdHeader: string
    readonly trustedProxies: number
    readonly bodyBytesMax: number
    readonly multipart: MultipartLimits
    readonly emptyAsAbsent: boolean
    readonly json: JsonCodec
  }
}

/** Other names of schemes. */
const kinds: Readonly<Record<string, string>> = { client: 'basic', token: 'bearer', access: 'bearer' }

/** The request that a controller answers, as `this.request`. */
export class EndpointRequest {
  readonly method: string
  /** The path as it was sent, without the query. */
  readonly path: string
  /** The id that the client sent, if it is valid; else a new one. */
  readonly id: string
  /** The caller, as the check of `authBasic` or `authBearer` returned it. */
  identity: unknown
  readonly #incoming: Incoming
  readonly #host: RequestHost
  readonly #response: ResponseState
  readonly #target: Target
  readonly #found: FoundHandler | undefined
  #query: Keywords | undefined
  #url: RequestUrl | undefined
  #headers: Headers | undefined
  #bytes: Promise<Uint8Array> | undefined
  #isStreamed = false

  constructor(
    host: RequestHost,
    incoming: Incoming,
    response: ResponseState,
    { target, found }: { readonly target: Target; readonly found: FoundHandler | undefined },
  ) {
    this.method = incoming.method
    this.path = target.path
    this.id = requestId(incoming, host.settings.requestIdHeader)
    this.#host = host
    this.#incoming = incoming
    this.#response = response
    this.#target = target
    this.#found = found
  }

  /** The request of Node.js, of the web or of Fastify behind this one. */
  get raw(): RawRequest {
    return this.#incoming.raw
  }

  get application(): ControllerApplication {
    return this.#host.application
  }

  /** The handler that answers; undefined when the URL does not exist or does not take the verb. */
  get route(): RouteInfo | undefined {
    return this.#found && new RouteInfo(this.#found)
  }

  /** The query by name. A repeated name has a list. @throws CallError 400 for a malformed query */
  get query(): Readonly<Keywords> {
    const isAbsent = this.#found?.route.absentIfEmpty ?? (() => this.#host.settings.emptyAsAbsent)
    this.#query ??= parseUrlEncoded(this.#target.query, isAbsent)
    return this.#query
  }

  get headers(): Headers {
    this.#headers ??= this.#incoming.headers()
    return this.#headers
  }

  /** One header by its lower-case name. It is cheaper than `headers`. */
  header(name: string): string | undefined {
    return this.#incoming.header(name)
  }

  get url(): RequestUrl {
    const { trustedProxies } = this.#host.settings
    this.#url ??= buildRequestUrl(this.#incoming, { target: this.#target, route: this.#found?.route, trustedProxies })
    return this.#url
  }

  /** The address of the client, as far as trusted proxies tell it. */
  get ip(): string {
    const trusted = this.#host.settings.trustedProxies
    if (trusted === 0) return this.#incoming.address()
    const forwarded = this.header('x-forwarded-for')?.split(',') ?? []
    const hops = [...forwarded.map((hop) => hop.trim()), this.#incoming.address()]
    return hops[Math.max(0, hops.length - 1 - trusted)] ?? ''
  }

  /** Aborted when the client leaves. */
  get signal(): AbortSignal {
    return this.#incoming.signal()
  }

  /**
   * The version that the client asks for: the parameter `version` of the preferred range of `Accept` that includes `mediaType`.
   * Empty without one. The answer then varies by `Accept`.
   */
  version(mediaType = '*/*'): string {
    this.#response.vary('Accept')
    return preferredRange(this.header('accept') ?? '', mediaType)?.parameters.get('version') ?? ''
  }

  /** The type that the client prefers; undefined when it accepts none of them. */
  accepts(...types: readonly string[]): string | undefined {
    this.#response.vary('Accept')
    return preferredType(this.header('accept') ?? '', types)
  }

  /** The credentials in `Authorization`; undefined when it is missing or malformed. */
  auth(): Credentials | undefined {
    return parseCredentials(this.header('authorization'))
  }

  /** Whether the client uses this scheme: `basic` (or `client`), `bearer` (or `token`, `access`), or another one. */
  isAuth(scheme: string): boolean {
    const name = scheme.toLowerCase()
    return this.auth()?.scheme === (kinds[name] ?? name)
  }

  /**
   * The body while it arrives. Only for handlers that declare `body: 'raw'`, and only once. It fails after more than `limit`
   * bytes; `Infinity` is no limit.
   * @throws CallError 413 when Content-Length is larger, TypeError when the body was read before
   */
  stream(limit = this.#bodyBytesMax): ReadableStream<Uint8Array> {
    const body = this.#takeBody()
    this.#isStreamed = true
    if (body === undefined) return new ReadableStream({ start: (controller) => controller.close() })
    if ((body.length ?? 0) > limit) throw tooLarge(limit)
    return limitedStream(body.stream(), limit)
  }

  /**
   * The whole body, for the same handlers. It may be read again, also as text or JSON. `limit` is in bytes.
   * @throws CallError 413 when it is larger than the limit, TypeError when it was read as a stream
   */
  async bytes(limit = this.#bodyBytesMax): Promise<Uint8Array> {
    this.#bytes ??= this.#takeBody()?.read(limit) ?? Promise.resolve(new Uint8Array())
    const bytes = await this.#bytes
    if (bytes.byteLength > limit) throw tooLarge(limit)
    return bytes
  }

  /** @throws CallError 400 when the body is not UTF-8 */
  async text(limit?: number): Promise<string> {
    return decodeUtf8(await this.bytes(limit))
  }

  /** @throws CallError 400 when the body is not JSON */
  async json(limit?: number): Promise<unknown> {
    return parseJson(await this.text(limit), this.#host.settings.json)
  }

  /**
   * The parts of a multipart form while they arrive, for the same handlers, and only once. Files may be larger than memory if
   * `bodyLimit` and `multipart` allow it.
   * @throws CallError 415 for another media type, 400 for a malformed form, 413 for a form that is too large
   */
  parts(): AsyncGenerator<FormPart, void> {
    const type = this.header('content-type') ?? ''
    if (parseMediaType(type)?.type !== 'multipart/form-data') throw new CallError(415)
    return formParts(fromWebStream(this.stream()), type, (this.#found?.route ?? this.#host.settings).multipart)
  }

  #takeBody(): BodySource | undefined {
    if (this.#isStreamed || this.#bytes !== undefined) throw new TypeError('the body of the request has been read')
    const { method } = this
    const route = this.#found?.route
    if (route !== undefined && route.binding.body !== 'raw' && method !== 'GET' && method !== 'HEAD') {
      throw new TypeError(
        `${route.className}.${route.handler} gets the body as arguments; declare body: "raw" to read it`,
      )
    }
    return this.#incoming.body
  }

  get #bodyBytesMax(): number {
    return (this.#found?.route ?? this.#host.settings).bodyBytesMax
  }
}

/** Fastify may take its id from a header of the request, which may hold any byte. */
const sendableId = /^[\x21-\x7e]+$/
const goodId = /^[A-Za-z0-9._-]{1,64}$/

function requestId(incoming: Incoming, headerName: string): string {
  const given = incoming.header(headerName)
  if (given !== undefined && goodId.test(given)) return given
  return incoming.id !== undefined && sendableId.test(incoming.id) ? incoming.id : generateRequestId()
}

/** The last three digits of ids, in ascending order. */
const endings = Array.from({ length: 4_096 }, (_, count) => count.toString(16).padStart(3, '0'))

let drawn = ''
let next = endings.length

/**
 * Generates the id of a request: a UUID whose last 12 bits count up, so that one random UUID serves 4,096
 * requests. A random UUID for each would take a thirtieth of the time of a small request.
 */
export function generateRequestId(): string {
  if (next === endings.length) {
    drawn = crypto.randomUUID().slice(0, -3)
    next = 0
  }
  const id = `${drawn}${endings[next]}`
  next += 1
  return id
}
