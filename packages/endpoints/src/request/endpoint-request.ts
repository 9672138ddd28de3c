import { fromWebStream } from '../answers/byte-stream.ts'
import type { ResponseState } from '../answers/response-state.ts'
import { type Keywords, parseUrlEncoded } from '../binding/keywords.ts'
import { type BodySource, decodeUtf8, limitedStream, tooLarge } from '../body/body-source.ts'
import { type JsonCodec, parseJson } from '../body/json.ts'
import { type MediaType, parseMediaType } from '../body/media-type.ts'
import { type FormPart, formParts, type MultipartLimits } from '../body/multipart.ts'
import { CallError } from '../errors.ts'
import type { HandlerPlace } from '../routing/pattern.ts'
import type { Target } from '../routing/target.ts'
import type { ControllerApplication } from './controller-application.ts'
import type { Incoming, RawRequest } from './incoming.ts'
import { type FoundHandler, RouteInfo } from './route-info.ts'

/** The application that serves a request, and the settings that limit how the request is read. */
interface RequestHost {
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

const kinds: Readonly<Record<string, string>> = { client: 'basic', token: 'bearer', access: 'bearer' }

/** The request that a controller answers, as `this.request`. */
export class EndpointRequest {
  readonly method: string
  /** The path as the client sent it, without the query. */
  readonly path: string
  /** The id that the client sent if it is valid, otherwise a new id. */
  readonly id: string
  /** The identity of the caller: the value that the check of `authBasic` or `authBearer` returned. */
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

  /** The original request of Node.js, of the Fetch API, or of Fastify. */
  get raw(): RawRequest {
    return this.#incoming.raw
  }

  get application(): ControllerApplication {
    return this.#host.application
  }

  /** The handler that answers, or `undefined` if the URL does not exist or does not support the verb. */
  get route(): RouteInfo | undefined {
    return this.#found && new RouteInfo(this.#found)
  }

  /** The query values by name. A repeated name has a list. @throws CallError 400 if the query is malformed */
  get query(): Readonly<Keywords> {
    const isAbsent = this.#found?.route.absentIfEmpty ?? (() => this.#host.settings.emptyAsAbsent)
    this.#query ??= parseUrlEncoded(this.#target.query, isAbsent)
    return this.#query
  }

  get headers(): Headers {
    this.#headers ??= this.#incoming.headers()
    return this.#headers
  }

  /** Returns one header by its lower-case name. It is faster than `headers`. */
  header(name: string): string | undefined {
    return this.#incoming.header(name)
  }

  get url(): RequestUrl {
    const { trustedProxies } = this.#host.settings
    this.#url ??= buildRequestUrl(this.#incoming, { target: this.#target, route: this.#found?.route, trustedProxies })
    return this.#url
  }

  /** The address of the client, based on the headers of trusted proxies. */
  get ip(): string {
    const trusted = this.#host.settings.trustedProxies
    if (trusted === 0) return this.#incoming.address()
    const forwarded = this.header('x-forwarded-for')?.split(',') ?? []
    const hops = [...forwarded.map((hop) => hop.trim()), this.#incoming.address()]
    return hops[Math.max(0, hops.length - 1 - trusted)] ?? ''
  }

  /** Aborted when the client disconnects. */
  get signal(): AbortSignal {
    return this.#incoming.signal()
  }

  /**
   * Returns the version that the client requests, or an empty text. The version is the parameter `version` in the preferred range
   * of `Accept` that includes `mediaType`. Adds `Accept` to the `Vary` header of the answer.
   */
  version(mediaType = '*/*'): string {
    this.#response.vary('Accept')
    return preferredRange(this.header('accept') ?? '', mediaType)?.parameters.get('version') ?? ''
  }

  /** Returns the type that the client prefers, or `undefined` if the client accepts none of the types. */
  accepts(...types: readonly string[]): string | undefined {
    this.#response.vary('Accept')
    return preferredType(this.header('accept') ?? '', types)
  }

  /** Returns the credentials in `Authorization`, or `undefined` if the header is missing or malformed. */
  auth(): Credentials | undefined {
    return parseCredentials(this.header('authorization'))
  }

  /** Returns whether the client uses this scheme: `basic` (or `client`), `bearer` (or `token`, `access`), or any other scheme. */
  isAuth(scheme: string): boolean {
    const name = scheme.toLowerCase()
    return this.auth()?.scheme === (kinds[name] ?? name)
  }

  /**
   * Returns the body as a stream. Only handlers with `body: 'raw'` may call it, and only once. The stream fails after more than
   * `limit` bytes. `Infinity` means no limit.
   * @throws CallError 413 if Content-Length is larger, TypeError if the body was already read
   */
  stream(limit = this.#bodyBytesMax): ReadableStream<Uint8Array> {
    const body = this.#takeBody()
    this.#isStreamed = true
    if (body === undefined) return new ReadableStream({ start: (controller) => controller.close() })
    if ((body.length ?? 0) > limit) throw tooLarge(limit)
    return limitedStream(body.stream(), limit)
  }

  /**
   * Returns the whole body, for handlers with `body: 'raw'`. It can be read again, also as text or JSON. `limit` is in bytes.
   * @throws CallError 413 if the body is larger than the limit, TypeError if it was read as a stream
   */
  async bytes(limit = this.#bodyBytesMax): Promise<Uint8Array> {
    this.#bytes ??= this.#takeBody()?.read(limit) ?? Promise.resolve(new Uint8Array())
    const bytes = await this.#bytes
    if (bytes.byteLength > limit) throw tooLarge(limit)
    return bytes
  }

  /** @throws CallError 400 if the body is not UTF-8 */
  async text(limit?: number): Promise<string> {
    return decodeUtf8(await this.bytes(limit))
  }

  /** @throws CallError 400 if the body is not JSON */
  async json(limit?: number): Promise<unknown> {
    return parseJson(await this.text(limit), this.#host.settings.json)
  }

  /**
   * Returns the parts of a multipart form as they arrive. Only handlers with `body: 'raw'` may call it, and only once. Files may
   * be larger than memory if `bodyLimit` and `multipart` allow it.
   * @throws CallError 415 for another media type, 400 for a malformed form, 413 if the form is too large
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

/** Fastify may take its id from a header of the request, and that header may contain any byte. */
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
 * Generates a request id. The id is a UUID whose last 12 bits count up, so that one random UUID is enough for 4,096 requests. A
 * random UUID for each request would take about 3 % of the time of a small request.
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

interface AcceptRange extends MediaType {
  readonly q: number
}

/** Returns the preferred range that includes or overlaps with this type, or `undefined` if there is none. */
function preferredRange(header: string, mediaType: string): AcceptRange | undefined {
  return parseAccept(header).find(({ type, q }) => q > 0 && matchesRange(type, mediaType))
}

/** Returns the type that the client prefers, or `undefined` if the client accepts none. An empty header accepts every type. */
function preferredType(header: string, types: readonly string[]): string | undefined {
  if (header.trim() === '') return types[0]
  for (const { type, q } of parseAccept(header)) {
    const found = q > 0 ? types.find((candidate) => matchesRange(type, candidate)) : undefined
    if (found !== undefined) return found
  }
  return undefined
}

/** Returns the ranges by preference: by `q`, then the most specific, then the one with the most parameters. */
function parseAccept(header: string): readonly AcceptRange[] {
  const ranges = header.split(',').flatMap((text): AcceptRange[] => {
    const media = parseMediaType(text)
    if (media === undefined) return []
    const parameters = new Map(media.parameters)
    const q = Number(parameters.get('q') ?? 1)
    parameters.delete('q')
    return q >= 0 && q <= 1 ? [{ type: media.type, parameters, q }] : []
  })
  return ranges.sort((a, b) => b.q - a.q || specificity(b) - specificity(a) || b.parameters.size - a.parameters.size)
}

/** Returns 0 for `*​/*`, 1 if the range names only the type, and 2 if it also names the subtype. */
function specificity({ type }: AcceptRange): number {
  if (type === '*/*') return 0
  return type.endsWith('/*') ? 1 : 2
}

function matchesRange(one: string, other: string): boolean {
  const [a = '', b = ''] = one.split('/')
  const [c = '', d = ''] = other.split('/')
  const matchesPart = (x: string, y: string): boolean => x === '*' || y === '*' || x === y
  return matchesPart(a, c) && matchesPart(b, d)
}

interface Credentials {
  /** The scheme in lower case, such as `basic` or `bearer`. */
  readonly scheme: string
  /** The text after the scheme. */
  readonly token: string
  /** Only for the scheme Basic. */
  readonly username?: string
  readonly password?: string
}

/** Reads `Authorization`. Returns `undefined` if the header is missing or malformed. */
function parseCredentials(header: string | undefined): Credentials | undefined {
  const [, scheme = '', token = ''] = /^([A-Za-z][\w-]*) +([^\s].*)$/.exec(header ?? '') ?? []
  if (scheme === '') return undefined
  if (scheme.toLowerCase() !== 'basic') return { scheme: scheme.toLowerCase(), token: token.trim() }
  const text = decodeBase64(token.trim())
  const colon = text?.indexOf(':') ?? -1
  if (text === undefined || colon === -1) return undefined
  return { scheme: 'basic', token: token.trim(), username: text.slice(0, colon), password: text.slice(colon + 1) }
}

function decodeBase64(text: string): string | undefined {
  try {
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/** Query values by name. A list repeats the name, and `undefined` values are omitted. */
type QueryValues = Readonly<Record<string, string | number | boolean | undefined | readonly (string | number)[]>>

type Parts = readonly (string | number)[]

/** The URL of a request. It can also build other URLs of the application. */
class RequestUrl extends URL {
  readonly #modulePath: Parts
  readonly #controllerPath: Parts

  /** The paths of the module and of the class that answer, including the prefix of a mount. */
  constructor(href: string, modulePath: Parts, controllerPath: Parts) {
    super(href)
    this.#modulePath = modulePath
    this.#controllerPath = controllerPath
  }

  module(...parts: [...Parts] | [...Parts, QueryValues]): URL {
    return this.#build(this.#modulePath, parts)
  }

  /** Returns a URL below the class that answers. */
  controller(...parts: [...Parts] | [...Parts, QueryValues]): URL {
    return this.#build(this.#controllerPath, parts)
  }

  #build(base: Parts, given: readonly (string | number | QueryValues)[]): URL {
    const parts = given.filter((part) => typeof part !== 'object')
    const query = given.find((part) => typeof part === 'object') ?? {}
    const path = [...base, ...parts].map((part) => encodeURIComponent(part)).join('/')
    const url = new URL(`/${path}`, this.origin)
    for (const [name, value] of Object.entries(query)) {
      if (value === undefined) continue
      for (const each of Array.isArray(value) ? value : [value]) url.searchParams.append(name, String(each))
    }
    return url
  }
}

/** A host with an optional port. Characters such as `/` or `@` could change other parts of the URL. */
const bareHost = /^[^\s/?#@\\]+$/

/** Returns the URL of a request. Behind trusted proxies, the scheme and host come from the forwarding headers. */
function buildRequestUrl(
  incoming: Incoming,
  {
    target: { path: sentPath, query: queryText },
    route: { modulePath, classPath } = { modulePath: [], classPath: [] },
    trustedProxies,
  }: { readonly target: Target; readonly route: HandlerPlace | undefined; readonly trustedProxies: number },
): RequestUrl {
  const [ownScheme, ownHost] = incoming.origin().split('://')
  const scheme = forwarded(incoming, 'x-forwarded-proto', trustedProxies)?.match(/^https?$/i)?.[0] ?? ownScheme
  const host = forwarded(incoming, 'x-forwarded-host', trustedProxies) ?? ownHost ?? ''
  const called = `${scheme}://${host}`
  const origin = bareHost.test(host) && URL.canParse(called) ? called : 'http://localhost'
  const path = sentPath.replace(/^https?:\/\/[^/]*/i, '')
  const mount = path
    .split('/')
    .filter((part) => part !== '')
    .slice(0, incoming.mountDepth)
  const query = queryText === '' ? '' : `?${queryText}`
  return new RequestUrl(`${origin}${path}${query}`, [...mount, ...modulePath], [...mount, ...modulePath, ...classPath])
}

/** Returns the value of a header from the outermost trusted proxy, or `undefined` without such a proxy or header. */
function forwarded(incoming: Incoming, name: string, trustedProxies: number): string | undefined {
  const values = trustedProxies === 0 ? [] : (incoming.header(name)?.split(',') ?? [])
  return values[Math.max(0, values.length - trustedProxies)]?.trim()
}
