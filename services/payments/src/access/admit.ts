import type { HttpError } from '@trestle/common/errors/define-error.ts'
import type { FieldError } from '../bodies/field-error.ts'
import { forbidden, notFound, unauthorized } from '../errors.ts'

/** Who calls: the digest of the key, and the identity once the database has told it. */
export interface Caller {
  readonly keyMac: Buffer
  /** For the log line; set by `admit`. */
  identityId: string | undefined
}

/** What the database decided about key, path and access, in this order. */
export type Verdict = 'unauthorized' | 'not-found' | 'forbidden' | 'done'

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
 * Lets a request pass that the database has judged, or throws the refusal that comes first. @see contract 1.4
 * @throws 401, 404, 403, or the error of the flaw at its place between them
 */
export function admit<Result extends Judged>(caller: Caller, result: Result, flaw: Flaw | undefined): Result {
  caller.identityId = result.identityId ?? undefined
  if (result.verdict === 'unauthorized') throw unauthorized()
  if (flaw?.stage === 'parse') throw flaw.error
  if (result.verdict === 'not-found') throw notFound()
  if (result.verdict === 'forbidden') throw forbidden()
  if (flaw) throw flaw.error
  return result
}
