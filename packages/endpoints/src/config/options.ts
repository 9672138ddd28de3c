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
 * value. `bodyLimit` is called as in Fastify, whose users know that it is in bytes.
 */
export interface ApplicationOptions<Context = unknown> {
  /** Folder or file of the controllers, or several. */
  readonly controllerPrefix?: string | URL | readonly (string | URL)[]
  /** The folder of relative prefixes. Default: the working directory. */
  readonly dir?: string
  /** A module map. Its modules come before the modules of the prefixes. */
  readonly modules?: ModuleMap
  /** The dependencies of controllers, such as a database or a clock, as `this.application.context`. */
  readonly context?: Context
  /** Guards of every handler. */
  readonly use?: readonly Guard[]
  readonly cors?: boolean | CorsOptions
  /** Largest body in bytes. Default: 1 MiB. */
  readonly bodyLimit?: number
  /** Limits of forms, within `bodyLimit`. Default: 100 parts, 10 MiB a file, 1 MiB a field. */
  readonly multipart?: Partial<MultipartLimits>
  /** Whether an empty value of a query or form, as in `a=`, counts as absent. Default: false. */
  readonly emptyAsAbsent?: boolean
  /**
   * A client of `app.listener` that takes no byte of an answer for so many milliseconds is cut off; 0 for never. Default: 30 s.
   * Fastify and fetch servers have limits of their own.
   */
  readonly writeTimeoutMs?: number
  /** How many trusted proxies stand in front of the server; `true` for one. */
  readonly trustProxy?: boolean | number
  /** Default: `X-Request-Id`. */
  readonly requestIdHeader?: string
  /** Receives a thrown value when the controller did not answer it, and returns the value to send. */
  readonly onError?: (error: unknown, request: EndpointRequest) => unknown
  /** Replaces the body of errors. */
  readonly errorBody?: (error: CallError, request: EndpointRequest) => unknown
  /** The schema of the bodies of `errorBody`, for the OpenAPI document. */
  readonly errorSchema?: ZodType
  /** Shows messages and stacks of unexpected errors; refused in production. */
  readonly exposeErrors?: boolean
  /** Replaces the built-in JSON. */
  readonly json?: Partial<JsonCodec>
  /** Every warning of the start is a failure. */
  readonly strict?: boolean
  /** Reads `/che_baz` and `/CHE-BAZ` as `/che-baz`. */
  readonly looseNames?: boolean
  /** Accepts `%2F` and `\` inside a positional. */
  readonly allowEncodedSlash?: boolean
  /** `false` requires every handler to be declared with `accepts`. */
  readonly signatures?: boolean
  /** Reloads the controllers when they change; refused in production. */
  readonly watch?: boolean
  /** Title and version of the OpenAPI document. Default: the name and version of the nearest package.json. */
  readonly info?: DocumentInfo
  /** The servers of the OpenAPI document, below which its paths begin. Default: the prefixes in Fastify, else the root. */
  readonly servers?: readonly DocumentServer[]
  /** Takes warnings and unexpected errors. Default: the console. */
  readonly log?: Log
  /** Takes the defects and outages of requests, in place of every log. */
  readonly onFault?: (error: unknown, request: EndpointRequest) => void
}

/** Default of `writeTimeoutMs`. */
export const WRITE_TIMEOUT_MS = 30_000
const MIB = 1024 * 1024
const BODY_BYTES_MAX = MIB
const MULTIPART: MultipartLimits = { parts: 100, fileBytes: 10 * MIB, fieldBytes: MIB }

/** Checks and completes the options. @throws Error for invalid options, and for options that contradict each other */
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
