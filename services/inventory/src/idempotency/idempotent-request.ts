import { keyMismatch, keyRunning } from '../errors.ts'

/** `replayed`: the stored answer to an earlier request with the same key and content. */
export interface Answered<Body extends object> {
  readonly verdict: 'done' | 'replayed'
  readonly body: Body
}

export interface Refused<Refusal extends string> {
  readonly verdict: Refusal | KeyRefusal
  readonly body: null
  /** The quantity of the refusal, for example the available quantity. */
  readonly quantity: number | null
  /** The index of the refused line in a batch, starting at 0. */
  readonly line: number | null
}

export type Answer<Body extends object, Refusal extends string> = Answered<Body> | Refused<Refusal>

/** A request that its client may send again, but that must take effect only once (reference: Idempotency keys). */
interface IdempotentRequest {
  readonly path: string
  readonly key: string
  /** The SHA-256 of the parsed request. */
  readonly fingerprint: Buffer
}

/** The sender of a change and its Idempotency-Key. SQL functions take this as a `caller`. */
export interface Caller {
  /** The `sub` of the token. `null` if authentication is off. */
  readonly actor: string | null
  /** `undefined` if the request has no Idempotency-Key. */
  readonly idempotentRequest: IdempotentRequest | undefined
}

export type KeyRefusal = 'key-mismatch' | 'key-running'

/** @throws keyMismatch if the key was used for another request, keyRunning while the first request runs */
export function refuseKey(refusal: KeyRefusal): never {
  switch (refusal) {
    case 'key-mismatch':
      throw keyMismatch()
    case 'key-running':
      throw keyRunning()
  }
}
