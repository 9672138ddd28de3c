import type { ResponseState } from './answers/response-state.ts'
import type { ControllerApplication } from './controller-application.ts'
import type { CorsOptions } from './guards/cors.ts'
import type { Guard } from './guards/guard.ts'
import type { EndpointRequest } from './request/endpoint-request.ts'

/**
 * Base of every controller. A class that derives from it and is exported answers the URL of its name; its methods `GET`,
 * `POST`, … answer those verbs. A controller lives for one request.
 */
export abstract class Controller<Context = unknown> {
  /** Hides a class, but not those derived from it. */
  declare static private?: boolean
  /** Takes the place of the application's. */
  declare static cors?: boolean | CorsOptions
  /** Run before the handlers of this class, of those derived from it, and of those nested in it. */
  declare static use?: readonly Guard[]

  readonly request: EndpointRequest
  readonly response: ResponseState
  readonly application: ControllerApplication<Context>

  constructor(request: EndpointRequest, response: ResponseState) {
    this.request = request
    this.response = response
    // The author of a controller says which context it gets.
    this.application = request.application as ControllerApplication<Context>
  }

  /** Runs when the arguments are bound, before the handler. */
  before(): void | Promise<void> {}

  /** Gets what the handler returned; what it returns is sent. */
  after(value: unknown): unknown {
    return value
  }

  /** Gets what was thrown; what it returns is sent, with the status of the error. By default that is the error itself. */
  onError(error: unknown): unknown {
    return error
  }
}
