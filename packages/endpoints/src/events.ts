import type { EndpointRequest } from './request/endpoint-request.ts'
import type { ErrorLog } from './request/incoming.ts'

export interface ApplicationEvents {
  /** The controllers are loaded or reloaded. The first requests wait for the listeners of this event. */
  ready: []
  /** The application closes. `close()` waits for the listeners of this event. */
  close: []
  /** A call has failed because of a defect or an outage. */
  error: [error: unknown, request: EndpointRequest]
  /** The handler of a request is known, but nothing has run yet. */
  request: [request: EndpointRequest]
  /** A request has its answer. A streamed answer may only have started. */
  route: [request: EndpointRequest, status: number]
}

/** A listener may return a promise. Its errors are logged and have no other effect. */
export type Listener<E extends keyof ApplicationEvents> = (...told: ApplicationEvents[E]) => unknown

/** The listeners of an application, by event. Their errors are logged and do not affect requests. */
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

  /** Calls the listeners without waiting for them. */
  emit<E extends keyof ApplicationEvents>(event: E, ...told: ApplicationEvents[E]): void {
    for (const listener of this.#of[event]) {
      try {
        const returned = listener(...told)
        if (isThenable(returned)) void this.#logFailure(event, returned)
      } catch (error) {
        this.#report(event, error)
      }
    }
  }

  /**
   * Calls all listeners in parallel, and resolves when all have ended. Never rejects. If a listener takes longer than `limitMs`,
   * logs it and no longer waits for it. Otherwise it could keep the application from serving or closing.
   */
  async emitAndWait(event: 'ready' | 'close', limitMs: number): Promise<void> {
    await Promise.all(
      this.#of[event].map(async (listener) => {
        const ending = this.#logFailure(event, Promise.resolve().then(listener))
        let timer: ReturnType<typeof setTimeout> | undefined
        const late = new Promise<void>((resolve) => {
          timer = setTimeout(() => {
            this.#report(event, new Error(`it has not ended after ${limitMs} ms; the application goes on without it`))
            resolve()
          }, limitMs)
        })
        await Promise.race([ending, late])
        clearTimeout(timer)
      }),
    )
  }

  async #logFailure(event: keyof ApplicationEvents, returned: PromiseLike<unknown>): Promise<void> {
    try {
      await returned
    } catch (error) {
      this.#report(event, error)
    }
  }

  #report(event: keyof ApplicationEvents, error: unknown): void {
    this.#log(error, `a listener of "${event}" failed`)
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'
}
