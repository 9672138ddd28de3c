import type { ResponseState } from './answers/response-state.ts'
import type { CorsOptions } from './guards/cors.ts'
import type { Guard } from './guards/guard.ts'
import type { ControllerApplication } from './request/controller-application.ts'
import type { EndpointRequest } from './request/endpoint-request.ts'

/**
 * Base of every controller. An exported class that derives from it answers the URL of its name. Its methods `GET`, `POST`, …
 * answer those verbs. Each request gets its own instance.
 */
export abstract class Controller<Context = unknown> {
  /** Hides this class, but not the classes that derive from it. */
  declare static private?: boolean
  /** Replaces the option `cors` of the application. */
  declare static cors?: boolean | CorsOptions
  /** Guards of this class, of classes that derive from it, and of classes that are nested in it. */
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

  /** Runs after the arguments are bound, and before the handler. */
  before(): void | Promise<void> {}

  /** Receives the value of the handler, and returns the value to send. */
  after(value: unknown): unknown {
    return value
  }

  /** Receives a thrown value, and returns the value to send with the status of the error. By default the error itself. */
  onError(error: unknown): unknown {
    return error
  }
}
