import { fromWebStream } from '../answers/byte-stream.ts'
import type { ResponseState } from '../answers/response-state.ts'
import { type Keywords, parseUrlEncoded } from '../binding/keywords.ts'
import { type BodySource, limitedStream, tooLarge } from '../body/body-source.ts'
import { type JsonCodec, parseJson } from '../body/json.ts'
import { parseMediaType } from '../body/media-type.ts'
import { type FormPart, formParts, type MultipartLimits } from '../body/multipart.ts'
import type { ControllerApplication } from '../controller-application.ts'
import { CallError } from '../errors.ts'
import type { Target } from '../routing/target.ts'
import { type Credentials, parseCredentials, preferredRange, preferredType } from './header-fields.ts'
import type { Incoming, RawRequest } from './incoming.ts'
import { buildRequestUrl, type RequestUrl } from './request-url.ts'
import { type FoundHandler, RouteInfo } from './route-info.ts'

/** What a request needs of its application. */
export interface RequestHost {
  readonly application: ControllerApplication
  readonly settings: {
    readonly requestIdHeader: string
    readonly trustedProxies: number
    readonly bodyLimit: number
    readonly multipart: MultipartLimits
    readonly json: JsonCodec
  }
}

/** Schemes that mean the same to a client: `client` is Basic, `token` and `access` are Bearer. */
const kinds: Readonly<Record<string, string>> = { client: 'basic', token: 'bearer', access: 'bearer' }

/** The request that a controller answers, as `this.request`. */
export class EndpointRequest {
  readonly method: string
  /** As it came, without the query. */
  readonly path: string
  /** Id of the request: the client's where it gave a good one. */
  readonly id: string
  /** Who asks: what the check of `authBasic` or `authBearer` returned. */
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

  /** What stands behind it: of Node.js, of the web, or of Fastify. */
  get raw(): RawRequest {
    return this.#incoming.raw
  }

  get application(): ControllerApplication {
    return this.#host.application
  }

  /** What answers; undefined where the path or the verb leads nowhere. */
  get route(): RouteInfo | undefined {
    return this.#found && new RouteInfo(this.#found)
  }

  /** The query by name; a repeated name has a list. @throws CallError 400 when it is malformed. */
  get query(): Readonly<Keywords> {
    this.#query ??= parseUrlEncoded(this.#target.query)
    return this.#query
  }

  get headers(): Headers {
    this.#headers ??= this.#incoming.headers()
    return this.#headers
  }

  /** One header by its lower-case name, without making all of them. */
  header(name: string): string | undefined {
    return this.#incoming.header(name)
  }

  get url(): RequestUrl {
    const { trustedProxies } = this.#host.settings
    this.#url ??= buildRequestUrl(this.#incoming, { target: this.#target, route: this.#found?.route, trustedProxies })
    return this.#url
  }

  /** Address of the client; of the last proxy where none is trusted. */
  get ip(): string {
    const trusted = this.#host.settings.trustedProxies
    if (trusted === 0) return this.#incoming.address()
    const forwarded = this.header('x-forwarded-for')?.split(',') ?? []
    const hops = [...forwarded.map((hop) => hop.trim()), this.#incoming.address()]
    return hops[Math.max(0, hops.length - 1 - trusted)] ?? ''
  }

  /** Aborted when the client goes away. */
  get signal(): AbortSignal {
    return this.#incoming.signal()
  }

  /**
   * The version that the client asks for: parameter `version` of the range of `Accept` that it likes best among those
   * that meet `mediaType`; empty where there is none. The answer then varies by `Accept`.
   */
  version(mediaType = '*/*'): string {
    this.#response.vary('Accept')
    return preferredRange(this.header('accept') ?? '', mediaType)?.parameters.get('version') ?? ''
  }

  /** The one of `types` that the client likes best; undefined when it takes none of them. */
  accepts(...types: readonly string[]): string | undefined {
    this.#response.vary('Accept')
    return preferredType(this.header('accept') ?? '', types)
  }

  /** What `Authorization` holds; undefined when it is absent or malformed. */
  auth(): Credentials | undefined {
    return parseCredentials(this.header('authorization'))
  }

  /** Whether the client came with this scheme: `basic` (or `client`), `bearer` (or `token`, `access`), or another. */
  isAuth(scheme: string): boolean {
    const name = scheme.toLowerCase()
    return this.auth()?.scheme === (kinds[name] ?? name)
  }

  /**
   * The body as it comes: only for handlers that declare `body: 'raw'`, and only once. It fails when more than `limit`
   * bytes come; `Infinity` takes any number.
   * @throws CallError 413 when a larger one is announced. TypeError when the body has been read.
   */
  stream(limit = this.#bodyLimit): ReadableStream<Uint8Array> {
    const body = this.#takeBody()
    this.#isStreamed = true
    if (body === undefined) return new ReadableStream({ start: (controller) => controller.close() })
    if ((body.length ?? 0) > limit) throw tooLarge(limit)
    return limitedStream(body.stream(), limit)
  }

  /**
   * The whole body, for the same handlers. It may be asked for again, as text and JSON too.
   * @throws CallError 413 when it is larger than the limit. TypeError when it has been read as a stream.
   */
  async bytes(limit = this.#bodyLimit): Promise<Uint8Array> {
    this.#bytes ??= this.#takeBody()?.read(limit) ?? Promise.resolve(new Uint8Array())
    const bytes = await this.#bytes
    if (bytes.byteLength > limit) throw tooLarge(limit)
    return bytes
  }

  async text(limit?: number): Promise<string> {
    return new TextDecoder().decode(await this.bytes(limit))
  }

  /** @throws CallError 400 when the body is no JSON. */
  async json(limit?: number): Promise<unknown> {
    return parseJson(await this.text(limit), this.#host.settings.json)
  }

  /**
   * The parts of a multipart form, while they come, for the same handlers and only once: a file may be larger than the
   * memory where `bodyLimit` and `multipart` allow it.
   * @throws CallError 415 for another media type, 400 for what is no form, 413 for what is too large.
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

  get #bodyLimit(): number {
    return (this.#found?.route ?? this.#host.settings).bodyLimit
  }
}

const goodId = /^[A-Za-z0-9._-]{1,64}$/

function requestId(incoming: Incoming, headerName: string): string {
  const given = incoming.header(headerName)
  return given !== undefined && goodId.test(given) ? given : (incoming.id ?? newRequestId())
}

/** The last three digits of ids, in their order. */
const endings = Array.from({ length: 4_096 }, (_, count) => count.toString(16).padStart(3, '0'))

let drawn = ''
let next = endings.length

/**
 * An id for a request: a UUID whose last 12 bits count, so that one draw of random bits serves 4,096 requests. To draw each
 * of them, and to put it together from 20 pieces, would be a thirtieth of the time of a small request.
 */
export function newRequestId(): string {
  if (next === endings.length) {
    drawn = crypto.randomUUID().slice(0, -3)
    next = 0
  }
  const id = `${drawn}${endings[next]}`
  next += 1
  return id
}
