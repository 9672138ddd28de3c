import { keyMismatch, keyRunning } from '../errors.ts'

/** The answer to a request. `replayed`: the stored answer to the same request, sent before with the same key. */
export interface Answered<Body extends object> {
  readonly verdict: 'done' | 'replayed'
  readonly body: Body
}

/** The answer of a SQL function that refused a request, and why. */
export interface Refused<Refusal extends string> {
  readonly verdict: Refusal | KeyRefusal
  readonly body: null
  /** The quantity that the refusal is about, for example the available one. */
  readonly quantity: number | null
  /** The refused line of a batch, from 0. */
  readonly line: number | null
}

/** The verdict of a SQL function that answers a request: a body, or a refusal. */
export type Answer<Body extends object, Refusal extends string> = Answered<Body> | Refused<Refusal>

/** A request that its client may send again, and that must have its effect once (reference: Idempotency keys). */
interface Repeat {
  /** The path of the request, the same for every spelling of its URL. */
  readonly path: string
  /** The Idempotency-Key. */
  readonly key: string
  /** SHA-256 of the request as it was understood. */
  readonly fingerprint: Buffer
}

/** The sender of a change, and its Idempotency-Key: what SQL functions take as a `caller`. */
export interface Caller {
  /** `sub` of the token; null when authentication is off. */
  readonly actor: string | null
  /** Undefined when the request has no Idempotency-Key. */
  readonly repeat: Repeat | undefined
}

/** Why a request with an Idempotency-Key is refused. */
export type KeyRefusal = 'key-mismatch' | 'key-running'

/**
 * Refuses a request because of its Idempotency-Key.
 * @throws keyMismatch when the key was used for another request, keyRunning while the first request runs
 */
export function refuseKey(refusal: KeyRefusal): never {
  switch (refusal) {
    case 'key-mismatch':
      throw keyMismatch()
    case 'key-running':
      throw keyRunning()
  }
}
