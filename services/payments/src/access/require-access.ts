import type { HttpError } from '@trestle/common/errors/define-error.ts'
import { conflict, type FieldError, forbidden, idempotencyKeyUsed, notFound, unauthorized } from '../errors.ts'
import type { Caller } from './caller.ts'
import type { AccessResult, Judged } from './verdict.ts'

type Allowed<Result extends AccessResult, Values> = Result & { readonly values: Values }

/**
 * Returns the result and the values of a request that may go on, or throws the refusal that comes first
 * (reference: Order of checks). Either way the caller hears its identity.
 * @throws
 * - unauthorized for an unknown key
 * - notFound when there is no such object
 * - forbidden when the caller is not a member of the object's merchant
 * - the error of the request's problem, at its place between the others
 * - idempotencyKeyUsed when the key was used with another body
 * - conflict while the first request of the key runs
 */
export function requireAccess<Result extends AccessResult, Values>(
  caller: Caller,
  result: Result,
  input: RequestInput<Values>,
): Allowed<Result, Values> {
  if (result.identityId !== null) caller.onIdentified?.(result.identityId)
  if (result.verdict === 'unauthorized') refuseUnknown()
  if (input.verdict === 'refused' && input.problem.stage === 'parse') throw input.problem.error
  if (result.verdict === 'not-found') refuseMissing()
  if (result.verdict === 'forbidden') refuseStranger()
  if (input.verdict === 'refused') throw input.problem.error
  if (result.verdict === 'key-mismatch') throw idempotencyKeyUsed()
  if (result.verdict === 'key-running') refuseRunning()
  return { ...result, values: input.values }
}

export function refuseMissing(): never {
  throw notFound()
}

export function refuseUnknown(): never {
  throw unauthorized()
}

export function refuseStranger(): never {
  throw forbidden()
}

/** Refuses a request while another one that must end first is still running. */
export function refuseRunning(cause?: unknown): never {
  throw conflict({ cause })
}

/**
 * The object of a request that may go on. A caller with access always gets the object, so a result without it is an
 * error of its query.
 * @param name the field of `result` that has the object
 */
export function requireObject<Result extends AccessResult, Name extends Extract<keyof Result, string>>(
  caller: Caller,
  result: Result,
  { input, name }: { readonly input: RequestInput<unknown>; readonly name: Name },
): NonNullable<Result[Name]> {
  requireAccess(caller, result, input)
  const object = result[name]
  if (object === undefined || object === null) throw new Error(`a query answered ${result.verdict} without a ${name}`)
  return object
}

interface Effect<Outcome, Values> {
  readonly outcome: Outcome
  readonly values: Values
  /** Whether an earlier request with the same Idempotency-Key had the effect. */
  readonly replayed: boolean
}

/**
 * The outcome of a request that may go on. A statement that grants access to a valid request always has an outcome, so
 * a result without one is an error of the statement.
 */
export function requireOutcome<Outcome, Values>(
  caller: Caller,
  result: Judged<Outcome>,
  input: RequestInput<Values>,
): Effect<Outcome, Values> {
  const { verdict, outcome, values } = requireAccess(caller, result, input)
  if (outcome === undefined) throw new Error(`a query answered ${verdict} without an outcome`)
  return { outcome, values, replayed: verdict === 'replayed' }
}

/** The MAC of the app's key. @throws forbidden when a user calls: users have no keys */
export function keyMacOf({ keyMac }: Caller): Buffer {
  if (keyMac === null) refuseStranger()
  return keyMac
}

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

/** The id for a statement that judges access. Null for a refused request, for which the statement changes nothing. */
export function nullIfRefused(input: RequestInput<unknown>, id: string): string | null {
  return input.verdict === 'refused' ? null : id
}

/** The values for a statement that judges access. Null for a refused request, for which it changes nothing. */
export function valuesOrNull<Values>(input: RequestInput<Values>): Values | null {
  return input.verdict === 'valid' ? input.values : null
}
