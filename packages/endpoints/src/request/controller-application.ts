import type { Log } from '../config/log.ts'
import type { InjectedRequest } from '../interfaces/inject.ts'
import type { OpenApiDocument } from '../openapi/document-types.ts'
import type { ListedRoute, ResolvedPath } from '../routing/listed-route.ts'

/**
 * The part of an application that controllers and guards can access, as `this.application` and `request.application`.
 * `Application` adds the methods to serve and close it, which controllers must not call.
 */
export abstract class ControllerApplication<Context = unknown> {
  readonly context: Context
  readonly log: Log

  constructor(context: Context, log: Log) {
    this.context = context
    this.log = log
  }

  /** Answers a request without a server. */
  abstract inject(request: InjectedRequest): Promise<Response>
  /** Lists every handler, in the order of the URLs. @throws Error before `ready` */
  abstract routes(): readonly ListedRoute[]
  /** Returns the handler that a request would reach. @throws Error before `ready` */
  abstract resolve(method: string, path: string): ResolvedPath
  /**
   * Returns the OpenAPI 3.1 document of all handlers that are not hidden. In Fastify, its server is the prefix.
   * @throws Error before `ready`
   */
  abstract openapi(): OpenApiDocument
}
