import { type RawBuilder, sql } from 'kysely'
import type { KeyRefusal } from './refuse-key.ts'

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

/** Returns SQL that selects the answer of a call of such a function. */
export function answerOf<Body extends object, Refusal extends string>(
  call: RawBuilder<unknown>,
): RawBuilder<Answer<Body, Refusal>> {
  return sql<Answer<Body, Refusal>>`SELECT verdict, answer AS body, quantity::float8, line FROM ${call}`
}
