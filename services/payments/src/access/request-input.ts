import type { HttpError } from '@trestle/common/errors/define-error.ts'
import type { FieldError } from '../errors.ts'

/**
 * The input of a request: its values, or the problem for which they are refused. A refused request goes as far as a valid one
 * until its access has been judged, because 401, 403 and 404 come before what is wrong with values (reference: Order of checks).
 */
export type RequestInput<Values> =
  | { readonly verdict: 'valid'; readonly values: Values }
  | { readonly verdict: 'refused'; readonly problem: Problem }

/**
 * Why a request is refused whatever its access. A body that cannot be parsed is refused before its path is looked up;
 * values that a schema refuses are refused after access. The database still judges the access of such a request, and
 * does nothing else.
 */
export interface Problem {
  readonly stage: 'parse' | 'validation'
  readonly error: HttpError
  /** The fields that `error` names. */
  readonly fields?: readonly FieldError[]
  /** The values that the schema refused. */
  readonly values?: unknown
}

/** A request whose values are valid, as callers without HTTP make it. */
export function valid<Values>(values: Values): RequestInput<Values> {
  return { verdict: 'valid', values }
}

/** The input of a request with its values in another form. A refused request stays refused. */
export function mapInput<Values, Mapped>(
  input: RequestInput<Values>,
  map: (values: Values) => Mapped,
): RequestInput<Mapped> {
  return input.verdict === 'valid' ? valid(map(input.values)) : input
}

/**
 * The id for a statement that judges access. Null for a refused request: the statement then judges access and
 * changes nothing.
 */
export function nullIfRefused(input: RequestInput<unknown>, id: string): string | null {
  return input.verdict === 'refused' ? null : id
}

/**
 * The values for a statement that judges access. Null for a refused request: the statement then judges access
 * and nothing else.
 */
export function valuesOrNull<Values>(input: RequestInput<Values>): Values | null {
  return input.verdict === 'valid' ? input.values : null
}
