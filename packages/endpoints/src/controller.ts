import type { ResponseState } from './answers/response-state.ts'
import type { CorsOptions } from './guards/cors.ts'
import type { Guard } from './guards/guard.ts'
import type { ControllerApplication } from './request/controller-application.ts'
import type { EndpointRequest } from './request/endpoint-request.ts'

/**
 * The base of every controller. An exported class that derives from it answers the URL of its name. Its methods `GET`, `POST` and
 * so on answer these verbs. Each request gets its own instance.
 */
export abstract class Controller<Context = unknown> {
  /** Hides this class, but not classes that derive from it. */
  declare static private?: boolean
  /** Overrides the option `cors` of the application. */
  declare static cors?: boolean | CorsOptions
  /** The guards of this class, of classes that derive from it, and of classes nested in it. */
  declare static use?: readonly Guard[]

  readonly request: EndpointRequest
  readonly response: ResponseState
  readonly application: ControllerApplication<Context>

  constructor(request: EndpointRequest, response: ResponseState) {
    this.request = request
    this.response = response
    // The author of a controller declares the type of its context, so this cast cannot be checked here.
    this.application = request.application as ControllerApplication<Context>
  }

  /** Runs after the arguments are bound and before the handler. */
  before(): void | Promise<void> {}

  /** Receives the return value of the handler, and returns the value to send. */
  after(value: unknown): unknown {
    return value
  }

  /** Receives a thrown value. Returns the value to send with the status of the error. By default this is the error itself. */
  onError(error: unknown): unknown {
    return error
  }
}
