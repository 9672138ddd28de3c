import type { HttpError } from '@trestle/common/errors/define-error.ts'
import { conflict, type FieldError, forbidden, idempotencyKeyUsed, notFound, unauthorized } from '../errors.ts'
import type { Caller } from './caller.ts'
import type { AccessResult } from './verdict.ts'

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
  readonly input?: unknown
}

/**
 * Returns the result of a request that may go on, or throws the refusal that comes first (reference: Order of checks). Either way
 * the caller hears its identity.
 * @throws unauthorized for an unknown key, notFound when there is no such object, forbidden when the caller is not a member of
 * its merchant, the error of the problem at its place between them, idempotencyKeyUsed when the key was used with another body,
 * conflict while its first request runs
 */
export function requireAccess<Result extends AccessResult>(
  caller: Caller,
  result: Result,
  problem: Problem | undefined,
): Result {
  if (result.identityId !== null) caller.onIdentified?.(result.identityId)
  if (result.verdict === 'unauthorized') refuseUnknown()
  if (problem?.stage === 'parse') throw problem.error
  if (result.verdict === 'not-found') throw notFound()
  if (result.verdict === 'forbidden') refuseStranger()
  if (problem) throw problem.error
  if (result.verdict === 'key-mismatch') throw idempotencyKeyUsed()
  if (result.verdict === 'key-running') refuseRunning()
  return result
}

/** Refuses a caller whose key or token is not good. @throws unauthorized */
export function refuseUnknown(): never {
  throw unauthorized()
}

/** A known caller that may not do this. */
function refuseStranger(): never {
  throw forbidden()
}

/**
 * Refuses a request because another one that must end first is still running.
 * @param cause what the request met when it waited
 * @throws conflict
 */
export function refuseRunning(cause?: unknown): never {
  throw conflict({ cause })
}

/**
 * The object of a request that may go on. Whoever may see an object gets it, so a result without it is an error of its query.
 * @param name the field of `result` that has the object
 * @throws what `requireAccess` throws, Error when the field is missing
 */
export function requireObject<Result extends AccessResult, Name extends Extract<keyof Result, string>>(
  caller: Caller,
  result: Result,
  { problem, name }: { readonly problem: Problem | undefined; readonly name: Name },
): NonNullable<Result[Name]> {
  const object = requireAccess(caller, result, problem)[name]
  if (object === undefined || object === null) throw new Error(`a query answered ${result.verdict} without a ${name}`)
  return object
}

/**
 * The MAC of the app's key.
 * @throws forbidden when a user calls: users have no keys
 */
export function keyMacOf({ keyMac }: Caller): Buffer {
  if (keyMac === null) refuseStranger()
  return keyMac
}
