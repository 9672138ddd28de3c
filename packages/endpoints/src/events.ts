import type { EndpointRequest } from './request/endpoint-request.ts'
import type { ErrorLog } from './request/incoming.ts'

/** What an application tells, and what it tells with it. */
export interface ApplicationEvents {
  /** The controllers are loaded, for the first time or anew. */
  ready: []
  close: []
  /** A defect or an outage came up in a call. */
  error: [error: unknown, request: EndpointRequest]
  /** It is known what answers a request; nothing of it has run. */
  request: [request: EndpointRequest]
  /** A request has its answer, though a stream may only have begun. */
  route: [request: EndpointRequest, status: number]
}

export type Listener<E extends keyof ApplicationEvents> = (...told: ApplicationEvents[E]) => void

/** Who listens to an application. */
export class Listeners {
  readonly #log: ErrorLog
  readonly #of: { readonly [E in keyof ApplicationEvents]: Listener<E>[] } = {
    ready: [],
    close: [],
    error: [],
    request: [],
    route: [],
  }

  constructor(log: ErrorLog) {
    this.#log = log
  }

  add<E extends keyof ApplicationEvents>(event: E, listener: Listener<E>): void {
    this.#of[event].push(listener)
  }

  /** Calls who listens. What a listener throws is its own affair, and no request's. */
  tell<E extends keyof ApplicationEvents>(event: E, ...told: ApplicationEvents[E]): void {
    for (const listener of this.#of[event]) {
      try {
        listener(...told)
      } catch (error) {
        this.#log(error, `a listener of "${event}" failed`)
      }
    }
  }
}
