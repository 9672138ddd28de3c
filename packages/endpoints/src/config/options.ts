import type { ZodType } from 'zod'
import { builtInJson, type JsonCodec } from '../body/json.ts'
import type { MultipartLimits } from '../body/multipart.ts'
import { urlName } from '../discovery/url-name.ts'
import type { CallError } from '../errors.ts'
import { type CorsOptions, corsPolicy } from '../guards/cors.ts'
import type { Guard } from '../guards/guard.ts'
import type { DocumentInfo, DocumentServer } from '../openapi/document-types.ts'
import type { EndpointRequest } from '../request/endpoint-request.ts'
import { isProduction } from './environment.ts'
import { checkLimit, multipartLimits } from './limit.ts'
import type { Log } from './log.ts'
import type { Settings } from './settings.ts'

/** Modules by their path: `{ 'index': m0, './foo/bar.ts': () => import('./controllers/foo/bar.ts') }`. */
export type ModuleMap = Readonly<Record<string, object | (() => Promise<object>)>>

export interface ApplicationOptions<Context = unknown> {
  /** Folder or file of the controllers, or several. */
  readonly controllerPrefix?: string | URL | readonly (string | URL)[]
  /** Where relative prefixes begin; the working directory where absent. */
  readonly dir?: string
  /** Modules that are imported already, or can be; they come before those of the prefixes. */
  readonly modules?: ModuleMap
  /** What controllers need, as `this.application.context`: a database, a clock. */
  readonly context?: Context
  /** Guards of every handler. */
  readonly use?: readonly Guard[]
  readonly cors?: boolean | CorsOptions
  /** Largest body in bytes; 1 MiB where absent. */
  readonly bodyLimit?: number
  /** Limits of forms within `bodyLimit`: 100 parts, 10 MiB a file, 1 MiB a field where absent. */
  readonly multipart?: Partial<MultipartLimits>
  /**
   * How long a client of `app.listener` may take no byte of an answer before it is cut off, in milliseconds; 30 s where
   * absent, 0 for ever. Fastify and fetch servers have limits of their own.
   */
  readonly writeTimeout?: number
  /** How many proxies stand before the server, and may say who the client is; `true` is one. */
  readonly trustProxy?: boolean | number
  /** `X-Request-Id` where absent. */
  readonly requestIdHeader?: string
  /** Gets what was thrown where its controller has no other answer; what it returns is sent, like that of a controller's. */
  readonly onError?: (error: unknown, request: EndpointRequest) => unknown
  /** Replaces the body of errors. */
  readonly errorBody?: (error: CallError, request: EndpointRequest) => unknown
  /** The schema of what `errorBody` makes, for the OpenAPI document. */
  readonly errorSchema?: ZodType
  /** Shows messages and stacks of unexpected errors; refused in production. */
  readonly exposeErrors?: boolean
  /** Replaces the built-in JSON. */
  readonly json?: Partial<JsonCodec>
  /** Whatever is warned of makes the start fail. */
  readonly strict?: boolean
  /** Takes `/che_baz` and `/CHE-BAZ` for `/che-baz`. */
  readonly looseNames?: boolean
  /** Takes `%2F` and `\` inside a positional. */
  readonly allowEncodedSlash?: boolean
  /** `false` demands that every handler be declared with `accepts`. */
  readonly signatures?: boolean
  /** Loads the controllers anew when they change; refused in production. */
  readonly watch?: boolean
  /** Title and version of the OpenAPI document; those of the nearest package.json where absent. */
  readonly info?: DocumentInfo
  /** Where the API is, for the OpenAPI document; its paths begin there. Where absent: its prefixes in Fastify, else the root. */
  readonly servers?: readonly DocumentServer[]
  /** Takes warnings and unexpected errors; the console where absent. */
  readonly log?: Log
  /** Takes the defects and outages of requests in place of every log: the application knows which of them it expects. */
  readonly onFault?: (error: unknown, request: EndpointRequest) => void
}

/** 30 s without a byte taken. */
export const WRITE_TIMEOUT_MS = 30_000
const MIB = 1024 * 1024
const BODY_BYTES_MAX = MIB
const MULTIPART: MultipartLimits = { parts: 100, fileBytes: 10 * MIB, fieldBytes: MIB }

/** Completes the options. @throws Error for those that do not go together, or mean nothing. */
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
    bodyLimit: checkLimit('bodyLimit', options.bodyLimit ?? BODY_BYTES_MAX),
    multipart: multipartLimits(options.multipart, MULTIPART),
    writeTimeout: checkLimit('writeTimeout', options.writeTimeout ?? WRITE_TIMEOUT_MS),
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
  if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name)) throw new Error(`requestIdHeader: ${name} is no name of a header`)
  return name.toLowerCase()
}
