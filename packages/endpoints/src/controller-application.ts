import type { Log } from './config/log.ts'
import type { InjectedRequest } from './interfaces/inject.ts'
import type { OpenApiDocument } from './openapi/document-types.ts'

/**
 * The application, as controllers and guards see it: `this.application` and `request.application`. `Application` knows
 * controllers, so controllers know it by this interface alone.
 */
export interface ControllerApplication<Context = unknown> {
  /** The option `context`. */
  readonly context: Context
  readonly log: Log
  /** Answers a request without a server. */
  inject(request: InjectedRequest): Promise<Response>
  /** Lists every handler, in the order of the URLs. @throws Error before `ready` */
  routes(): readonly ListedRoute[]
  /** Says where a request would go. @throws Error before `ready` */
  resolve(method: string, path: string): ResolvedPath
  /** The OpenAPI 3.1 document of all handlers that are not hidden. @throws Error before `ready` */
  openapi(): OpenApiDocument
}

/** One handler, told to people. */
export interface ListedRoute {
  readonly verb: string
  /** With all the positionals that it may take: `/foo/bar/{che}`. */
  readonly pattern: string
  /** How many of them a request must give. */
  readonly required: number
  /** Whether the last stands for any number of them. */
  readonly rest: boolean
  readonly module: string
  readonly className: string
  readonly handler: string
  /** File, or key of the module map. */
  readonly source: string
}

/** Where a request would go. */
export interface ResolvedPath {
  /** 200 when a handler would be called; else what would be answered without one: 204, 400, 404, 405, 414, 501. */
  readonly status: number
  readonly route: ListedRoute | undefined
  readonly positionals: readonly string[]
  /** The verbs of this URL; empty where there is none. */
  readonly allow: readonly string[]
}
