import { lowerAToZ } from '@trestle/common/server/lower-a-to-z.ts'
import { type RawBuilder, sql } from 'kysely'

/**
 * The proof of who calls: the MAC of an app's key, or the verified email address of a user. One of the two is
 * null, for an operator both.
 */
export interface Credentials {
  readonly keyMac: Buffer | null
  readonly userEmail: string | null
}

/**
 * The key under which limits count a caller. A user counts as one in any case of A to Z, as the identity is (reference: Tokens
 * of users).
 */
export function limitKeyOf({ keyMac, userEmail }: Credentials): string {
  return keyMac === null ? `user ${lowerAToZ(userEmail ?? '')}` : keyMac.toString('base64url')
}

/** A request that its client may send again, and that must have its effect once (reference: Idempotency-Key). */
export interface IdempotentRequest {
  readonly method: string
  /** Normalized: ids in lower case, no slash at the end. */
  readonly path: string
  /** A digest of the Idempotency-Key, which is stored in its place. */
  readonly key: string
  /** SHA-256 of the parsed body. */
  readonly fingerprint: Buffer
}

/**
 * The sender of a change, and its Idempotency-Key: the argument `caller` of SQL functions. The database judges the credentials.
 */
export interface Caller extends Credentials {
  /** Undefined when the request has no Idempotency-Key. */
  readonly idempotentRequest: IdempotentRequest | undefined
  /** Hears from `requireAccess` which identity the database knows the caller by. For the log. */
  readonly onIdentified?: (identityId: string) => void
}

export interface CallerColumns extends Credentials {
  readonly method: string | null
  readonly path: string | null
  readonly idempotencyKey: string | null
  readonly fingerprint: Buffer | null
}

/** Turns a caller into the input of a prepared query: `{ ...callerColumns(caller), merchantId }`. */
export function callerColumns({ keyMac, userEmail, idempotentRequest }: Caller): CallerColumns {
  const { method = null, path = null, key = null, fingerprint = null } = idempotentRequest ?? {}
  return { keyMac, userEmail, method, path, idempotencyKey: key, fingerprint }
}

/**
 * The trusted caller: operators, jobs and acquirers. SQL functions judge no access for it, because the role of the operator, or
 * the service itself, has decided.
 */
export const TRUSTED_CALLER: Caller = { keyMac: null, userEmail: null, idempotentRequest: undefined }
export const TRUSTED_COLUMNS: CallerColumns = callerColumns(TRUSTED_CALLER)

/** The argument of type `caller` that SQL functions take. */
export function callerRow(p: CallerColumns): RawBuilder<unknown> {
  return sql`ROW(
    ${p.keyMac}::bytea, ${p.userEmail}::text, ${p.method}::text, ${p.path}::text, ${p.idempotencyKey}::text,
    ${p.fingerprint}::bytea
  )::${sql.table('caller')}`
}
