import type { Log } from '../config/log.ts'
import type { InjectedRequest } from '../interfaces/inject.ts'
import type { OpenApiDocument } from '../openapi/document-types.ts'
import type { ListedRoute, ResolvedPath } from '../routing/listed-route.ts'

/**
 * The part of an application that its controllers and guards have, as `this.application` and `request.application`. `Application`
 * is this and the ways to serve and to close it, which are not theirs.
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
  /** Says where a request would go. @throws Error before `ready` */
  abstract resolve(method: string, path: string): ResolvedPath
  /**
   * The OpenAPI 3.1 document of all handlers that are not hidden. Its server is the prefix in Fastify.
   * @throws Error before `ready`
   */
  abstract openapi(): OpenApiDocument
}
