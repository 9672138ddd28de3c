import type { ZodType } from 'zod'
import { builtInJson, type JsonCodec } from '../body/json.ts'
import type { MultipartLimits } from '../body/multipart.ts'
import { urlName } from '../discovery/url-name.ts'
import type { CallError } from '../errors.ts'
import { type CorsOptions, corsPolicy } from '../guards/cors.ts'
import type { Guard } from '../guards/guard.ts'
import type { DocumentInfo, DocumentServer } from '../openapi/document-types.ts'
import type { EndpointRequest } from '../request/endpoint-request.ts'
import type { Log } from './log.ts'
import { checkLimit, isProduction, multipartLimits, type Settings } from './settings.ts'

/** Modules by path: `{ 'index': m0, './foo/bar.ts': () => import('./controllers/foo/bar.ts') }`. */
export type ModuleMap = Readonly<Record<string, object | (() => Promise<object>)>>

/**
 * The options of an application. All of them have a default (reference: Application options). A name ends in the unit of its
 * value. The exception is `bodyLimit`, which has the same name and unit (bytes) as in Fastify.
 */
export interface ApplicationOptions<Context = unknown> {
  /** One or more folders or files of controllers. */
  readonly controllerPrefix?: string | URL | readonly (string | URL)[]
  /** The folder of relative prefixes. Default: the working directory. */
  readonly dir?: string
  /** A module map. Its modules take precedence over the modules of the prefixes. */
  readonly modules?: ModuleMap
  /** The dependencies of controllers, such as a database or a clock. Controllers read them as `this.application.context`. */
  readonly context?: Context
  /** The guards of every handler. */
  readonly use?: readonly Guard[]
  readonly cors?: boolean | CorsOptions
  /** The largest body in bytes. Default: 1 MiB. */
  readonly bodyLimit?: number
  /** The limits of forms, within `bodyLimit`. Default: 100 parts, 10 MiB per file, 1 MiB per field. */
  readonly multipart?: Partial<MultipartLimits>
  /** Whether an empty value of a query or form, as in `a=`, counts as absent. Default: `false`. */
  readonly emptyAsAbsent?: boolean
  /**
   * The time in milliseconds after which `app.listener` disconnects a client that reads no byte of an answer. 0 disables the
   * limit. Default: 30 s. Fastify and fetch servers have their own limits.
   */
  readonly writeTimeoutMs?: number
  /** The number of trusted proxies in front of the server. `true` means one. */
  readonly trustProxy?: boolean | number
  /** The name of the header for request ids. Default: `X-Request-Id`. */
  readonly requestIdHeader?: string
  /** Receives a thrown value that the controller did not handle, and returns the value to send. */
  readonly onError?: (error: unknown, request: EndpointRequest) => unknown
  /** Returns the body of an error, instead of the default body. */
  readonly errorBody?: (error: CallError, request: EndpointRequest) => unknown
  /** The schema of the bodies from `errorBody`, for the OpenAPI document. */
  readonly errorSchema?: ZodType
  /** Whether answers contain messages and stacks of unexpected errors. Refused in production. */
  readonly exposeErrors?: boolean
  /** Replaces the built-in JSON codec. */
  readonly json?: Partial<JsonCodec>
  /** Whether each warning at the start is an error. */
  readonly strict?: boolean
  /** Whether `/che_baz` and `/CHE-BAZ` are accepted as `/che-baz`. */
  readonly looseNames?: boolean
  /** Whether `%2F` and `\` are allowed inside a positional. */
  readonly allowEncodedSlash?: boolean
  /** If `false`, every handler must be declared with `accepts`. */
  readonly signatures?: boolean
  /** Whether to reload the controllers when their files change. Refused in production. */
  readonly watch?: boolean
  /** The title and version in the OpenAPI document. Default: the name and version of the nearest `package.json`. */
  readonly info?: DocumentInfo
  /** The servers in the OpenAPI document. Default: the prefixes in Fastify, otherwise the root. */
  readonly servers?: readonly DocumentServer[]
  /** Receives warnings and unexpected errors. Default: the console. */
  readonly log?: Log
  /** Receives the defects and outages of requests instead of all logs. */
  readonly onFault?: (error: unknown, request: EndpointRequest) => void
}

export const WRITE_TIMEOUT_MS = 30_000
const MIB = 1024 * 1024
const BODY_BYTES_MAX = MIB
const MULTIPART: MultipartLimits = { parts: 100, fileBytes: 10 * MIB, fieldBytes: MIB }

/** Checks the options and sets defaults. @throws Error if options are invalid or contradict each other */
export function readOptions(options: ApplicationOptions): Settings {
  const production = isProduction()
  for (const name of ['exposeErrors', 'watch'] as const) {
    if (options[name] && production) throw new Error(`${name} is for development: NODE_ENV is production`)
  }
  return {
    strict: options.strict ?? false,
    canonicalPart: options.looseNames ? urlName : undefined,
    allowEncodedSlash: options.allowEncodedSlash ?? false,
    signatures: options.signatures ?? true,
    bodyBytesMax: checkLimit('bodyLimit', options.bodyLimit ?? BODY_BYTES_MAX),
    multipart: multipartLimits(options.multipart, MULTIPART),
    emptyAsAbsent: options.emptyAsAbsent ?? false,
    writeTimeoutMs: checkLimit('writeTimeoutMs', options.writeTimeoutMs ?? WRITE_TIMEOUT_MS),
    use: options.use ?? [],
    cors: corsPolicy(options.cors),
    trustedProxies: checkLimit('trustProxy', Number(options.trustProxy ?? 0)),
    requestIdHeader: headerName(options.requestIdHeader ?? 'x-request-id'),
    exposeErrors: options.exposeErrors ?? false,
    development: !production,
    json: { ...builtInJson, ...options.json },
    onError: options.onError,
    onFault: options.onFault,
    errorBody: options.errorBody,
    errorSchema: options.errorSchema,
  }
}

function headerName(name: string): string {
  if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name)) throw new Error(`requestIdHeader: ${name} is not the name of a header`)
  return name.toLowerCase()
}
