import { type RawBuilder, sql } from 'kysely'

/** Why a request with an Idempotency-Key is not carried out. */
export type KeyRefusal = 'key-mismatch' | 'key-running'

/** What a request was answered. `replayed`: the answer that the same request has had before. */
export interface Answered<Body extends object> {
  readonly verdict: 'done' | 'replayed'
  readonly body: Body
}

/** Why a request was not carried out. */
export interface Refused<Refusal extends string> {
  readonly verdict: Refusal | KeyRefusal
  readonly body: null
  /** What the refusal is about: how much there is, for example. */
  readonly quantity: number | null
  /** Which line of several is refused, from 0. */
  readonly line: number | null
}

/** What a function that answers a request says. */
export type Answer<Body extends object, Refusal extends string> = Answered<Body> | Refused<Refusal>

/** The row of an answer, of a call of such a function. */
export function answerOf<Body extends object, Refusal extends string>(call: RawBuilder<unknown>) {
  return sql<Answer<Body, Refusal>>`SELECT verdict, answer AS body, quantity::float8, line FROM ${call}`
}
