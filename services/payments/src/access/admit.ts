import type { HttpError } from '@trestle/common/errors/define-error.ts'
import { conflict, type FieldError, forbidden, idempotencyKeyUsed, notFound, unauthorized } from '../errors.ts'
import type { Caller } from './caller.ts'

/**
 * What the database decided about key, path, access and Idempotency-Key, in this order. `key-mismatch`: it was used with
 * another body; `key-running`: its first request is not finished; `replayed`: what follows is the effect of the first.
 */
export type Verdict = 'unauthorized' | 'not-found' | 'forbidden' | 'key-mismatch' | 'key-running' | 'replayed' | 'done'

/**
 * Tells the verdicts that a function has besides those of access: the first member is `done` for each of them, the second is
 * the refusal.
 */
export function splitVerdict<const Refusal extends string>(
  verdict: Verdict | Refusal,
  refusals: readonly Refusal[],
): readonly [Verdict, Refusal | undefined] {
  const refusal = refusals.find((candidate) => candidate === verdict)
  return refusal === undefined ? [verdict as Verdict, undefined] : ['done', refusal]
}

/** What every statement that serves a request answers. */
export interface Judged {
  readonly verdict: Verdict
  /** Null for an unknown key. */
  readonly identityId: string | null
}

/**
 * Why a request is refused whatever its access: a body that cannot be read speaks before the path's object, values that a
 * schema refuses speak after access. Such a request still goes to the database, as access check only.
 */
export interface Flaw {
  readonly stage: 'parse' | 'validation'
  readonly error: HttpError
  /** What `error` says of each field. */
  readonly fields?: readonly FieldError[]
  /** The values that the schema refused. */
  readonly input?: unknown
}

/**
 * Lets a request pass that the database has judged, or throws the refusal that comes first (reference: Order of checks).
 * @throws 401, 404, 403, or the error of the flaw at its place between them; then 400 or 409 for its Idempotency-Key
 */
export function admit<Result extends Judged>(caller: Caller, result: Result, flaw: Flaw | undefined): Result {
  caller.identityId = result.identityId ?? undefined
  if (result.verdict === 'unauthorized') throw unauthorized()
  if (flaw?.stage === 'parse') throw flaw.error
  if (result.verdict === 'not-found') throw notFound()
  if (result.verdict === 'forbidden') throw forbidden()
  if (flaw) throw flaw.error
  if (result.verdict === 'key-mismatch') throw idempotencyKeyUsed()
  if (result.verdict === 'key-running') throw conflict()
  return result
}

/** The digest of the key of an app. @throws 403 when a person calls, who has no keys */
export function keyMacOf({ keyMac }: Caller): Buffer {
  if (keyMac === null) throw forbidden()
  return keyMac
}
