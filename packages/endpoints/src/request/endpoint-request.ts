import { fromWebStream } from '../answers/byte-stream.ts'
import type { ResponseState } from '../answers/response-state.ts'
import type { Application } from '../application.ts'
import { type Keywords, parseUrlEncoded } from '../binding/keywords.ts'
import { type BodySource, limitedStream, tooLarge } from '../body/body-source.ts'
import { parseJson } from '../body/json.ts'
import { parseMediaType } from '../body/media-type.ts'
import { type FormPart, formParts } from '../body/multipart.ts'
import type { Core } from '../core.ts'
import { CallError } from '../errors.ts'
import type { Resolution } from '../routing/resolve.ts'
import type { Target } from '../routing/target.ts'
import { preferredRange, preferredType } from './accept.ts'
import { type Credentials, parseCredentials } from './credentials.ts'
import type { Incoming, RawRequest } from './incoming.ts'
import { newRequestId } from './new-request-id.ts'
import { RequestUrl } from './request-url.ts'
import { RouteInfo } from './route-info.ts'

type ResolvedTarget = readonly [Target, Resolution | undefined]

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
  readonly #core: Core
  readonly #response: ResponseState
  readonly #queryText: string
  readonly #resolution: Resolution | undefined
  #query: Keywords | undefined
  #url: RequestUrl | undefined
  #headers: Headers | undefined
  #bytes: Promise<Uint8Array> | undefined
  #isStreamed = false

  constructor(core: Core, incoming: Incoming, response: ResponseState, [target, resolution]: ResolvedTarget) {
    this.method = incoming.method
    this.path = target.path
    this.id = requestId(incoming, core.settings.requestIdHeader)
    this.#core = core
    this.#incoming = incoming
    this.#response = response
    this.#queryText = target.query
    this.#resolution = resolution
  }

  /** What stands behind it: of Node.js, of the web, or of Fastify. */
  get raw(): RawRequest {
    return this.#incoming.raw
  }

  get application(): Application {
    return this.#core.application
  }

  /** What answers; undefined where the path or the verb leads nowhere. */
  get route(): RouteInfo | undefined {
    return this.#resolution?.verdict === 'found' ? new RouteInfo(this.#resolution) : undefined
  }

  /** The query by name; a repeated name has a list. @throws CallError 400 when it is malformed. */
  get query(): Readonly<Keywords> {
    this.#query ??= parseUrlEncoded(this.#queryText)
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
    this.#url ??= this.#buildUrl()
    return this.#url
  }

  /** Address of the client; of the last proxy where none is trusted. */
  get ip(): string {
    const trusted = this.#core.settings.trustedProxies
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
    return parseJson(await this.text(limit), this.#core.settings.json)
  }

  /**
   * The parts of a multipart form, while they come, for the same handlers and only once: a file may be larger than the
   * memory where `bodyLimit` and `multipart` allow it.
   * @throws CallError 415 for another media type, 400 for what is no form, 413 for what is too large.
   */
  parts(): AsyncGenerator<FormPart, void> {
    const type = this.header('content-type') ?? ''
    if (parseMediaType(type)?.type !== 'multipart/form-data') throw new CallError(415)
    const route = this.#resolution?.verdict === 'found' ? this.#resolution.route : undefined
    return formParts(fromWebStream(this.stream()), type, route?.multipart ?? this.#core.settings.multipart)
  }

  #takeBody(): BodySource | undefined {
    if (this.#isStreamed || this.#bytes !== undefined) throw new TypeError('the body of the request has been read')
    const { method } = this
    const route = this.#resolution?.verdict === 'found' ? this.#resolution.route : undefined
    if (route !== undefined && route.binding.body !== 'raw' && method !== 'GET' && method !== 'HEAD') {
      throw new TypeError(
        `${route.className}.${route.handler} gets the body as arguments; declare body: "raw" to read it`,
      )
    }
    return this.#incoming.body
  }

  get #bodyLimit(): number {
    return this.#resolution?.verdict === 'found' ? this.#resolution.route.bodyLimit : this.#core.settings.bodyLimit
  }

  /** What the outermost of the trusted proxies says; undefined where none is trusted, or it says nothing. */
  #forwarded(name: string): string | undefined {
    const trusted = this.#core.settings.trustedProxies
    const values = trusted === 0 ? [] : (this.header(name)?.split(',') ?? [])
    return values[Math.max(0, values.length - trusted)]?.trim()
  }

  #buildUrl(): RequestUrl {
    const [ownScheme, ownHost] = this.#incoming.origin().split('://')
    const scheme = this.#forwarded('x-forwarded-proto')?.match(/^https?$/i)?.[0] ?? ownScheme
    const host = this.#forwarded('x-forwarded-host') ?? ownHost ?? ''
    const called = `${scheme}://${host}`
    const origin = bareHost.test(host) && URL.canParse(called) ? called : 'http://localhost'
    const path = this.path.replace(/^https?:\/\/[^/]*/i, '')
    const mount = path
      .split('/')
      .filter((part) => part !== '')
      .slice(0, this.#incoming.mountDepth)
    const { modulePath = [], classPath = [] } = this.#resolution?.verdict === 'found' ? this.#resolution.route : {}
    const query = this.#queryText === '' ? '' : `?${this.#queryText}`
    return new RequestUrl(
      `${origin}${path}${query}`,
      [...mount, ...modulePath],
      [...mount, ...modulePath, ...classPath],
    )
  }
}

/** A host and perhaps a port. With `/`, `?`, `#`, `@` or `\\` a client would choose the path, the query or the host of the URL. */
const bareHost = /^[^\s/?#@\\]+$/

const goodId = /^[A-Za-z0-9._-]{1,64}$/

function requestId(incoming: Incoming, headerName: string): string {
  const given = incoming.header(headerName)
  return given !== undefined && goodId.test(given) ? given : (incoming.id ?? newRequestId())
}
