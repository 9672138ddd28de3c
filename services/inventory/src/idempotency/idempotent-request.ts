import { keyMismatch, keyRunning } from '../errors.ts'

/** `replayed`: the stored answer to the same request, sent before with the same key. */
export interface Answered<Body extends object> {
  readonly verdict: 'done' | 'replayed'
  readonly body: Body
}

export interface Refused<Refusal extends string> {
  readonly verdict: Refusal | KeyRefusal
  readonly body: null
  /** The quantity of the refusal, for example the available one. */
  readonly quantity: number | null
  /** The refused line of a batch, from 0. */
  readonly line: number | null
}

export type Answer<Body extends object, Refusal extends string> = Answered<Body> | Refused<Refusal>

/** A request that its client may send again, and that must have its effect once (reference: Idempotency keys). */
interface IdempotentRequest {
  readonly path: string
  readonly key: string
  /** SHA-256 of the parsed request. */
  readonly fingerprint: Buffer
}

/** The sender of a change, and its Idempotency-Key. SQL functions take it as a `caller`. */
export interface Caller {
  /** `sub` of the token; null when authentication is off. */
  readonly actor: string | null
  /** Undefined when the request has no Idempotency-Key. */
  readonly idempotentRequest: IdempotentRequest | undefined
}

export type KeyRefusal = 'key-mismatch' | 'key-running'

/** @throws keyMismatch when the key was used for another request, keyRunning while the first request runs */
export function refuseKey(refusal: KeyRefusal): never {
  switch (refusal) {
    case 'key-mismatch':
      throw keyMismatch()
    case 'key-running':
      throw keyRunning()
  }
}
