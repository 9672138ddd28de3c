import type { HttpError } from '@trestle/common/errors/define-error.ts'
import { conflict, type FieldError, forbidden, idempotencyKeyUsed, notFound, unauthorized } from '../errors.ts'
import type { Caller } from './caller.ts'
import type { AccessResult, Judged } from './verdict.ts'

type Allowed<Result extends AccessResult, Values> = Result & { readonly values: Values }

/**
 * Returns the result and the values of a request that may continue. Otherwise throws the first refusal (reference: Order of
 * checks). In both cases `caller.onIdentified` gets the identity, if it is known.
 * @throws
 * - unauthorized if the key is unknown
 * - notFound if the object does not exist
 * - forbidden if the caller is not a member of the object's merchant
 * - the error of `input.problem`, at its place in the order of checks
 * - idempotencyKeyUsed if the Idempotency-Key was used with another body
 * - conflict while the first request with the Idempotency-Key is running
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

/** Refuses a request because another request that must finish first is still running. */
export function refuseRunning(cause?: unknown): never {
  throw conflict({ cause })
}

/**
 * Returns the object of a request that may continue. A query always returns the object to a caller with access, so a missing
 * object is an error of the query.
 * @param name the field of `result` that contains the object
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
  /** Whether an earlier request with the same Idempotency-Key took effect. */
  readonly replayed: boolean
}

/**
 * Returns the outcome of a request that may continue. A statement that grants access to a valid request always returns an
 * outcome, so a missing outcome is an error of the statement.
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

/** Returns the MAC of the app's key. @throws forbidden if the caller is a user, because users have no keys */
export function keyMacOf({ keyMac }: Caller): Buffer {
  if (keyMac === null) refuseStranger()
  return keyMac
}

/**
 * The input of a request: its values, or the problem for which it is refused. The service still checks the access of a refused
 * request, because 401, 403 and 404 precede problems of values (reference: Order of checks).
 */
export type RequestInput<Values> =
  | { readonly verdict: 'valid'; readonly values: Values }
  | { readonly verdict: 'refused'; readonly problem: Problem }

/**
 * The reason to refuse a request even if its caller has access. The service refuses a body that it cannot parse before it looks
 * up the path. It refuses values that do not match the schema after it has checked access. The statement for such a request
 * checks access and changes nothing.
 */
export interface Problem {
  readonly stage: 'parse' | 'validation'
  readonly error: HttpError
  readonly fields?: readonly FieldError[]
  /** The values that do not match the schema. */
  readonly values?: unknown
}

/** Returns valid input, for callers without an HTTP request. */
export function valid<Values>(values: Values): RequestInput<Values> {
  return { verdict: 'valid', values }
}

/** Maps the values of an input. Returns a refused input unchanged. */
export function mapInput<Values, Mapped>(
  input: RequestInput<Values>,
  map: (values: Values) => Mapped,
): RequestInput<Mapped> {
  return input.verdict === 'valid' ? valid(map(input.values)) : input
}

/** The id for a statement that checks access. Returns `null` if the request is refused, so the statement changes nothing. */
export function nullIfRefused(input: RequestInput<unknown>, id: string): string | null {
  return input.verdict === 'refused' ? null : id
}

/** The values for a statement that checks access. Returns `null` if the request is refused, so the statement changes nothing. */
export function valuesOrNull<Values>(input: RequestInput<Values>): Values | null {
  return input.verdict === 'valid' ? input.values : null
}
