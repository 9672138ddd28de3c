import { lowerAToZ } from '@trestle/common/server/lower-a-to-z.ts'
import { type RawBuilder, sql } from 'kysely'

/**
 * The proof of the caller's identity: the MAC of an app's key, or the verified email address of a user. Exactly one of the two is
 * set. Both are `null` for an operator.
 */
export interface Credentials {
  readonly keyMac: Buffer | null
  readonly userEmail: string | null
}

/**
 * Returns the key by which limits count a caller. Email addresses that differ only in the case of A to Z count as one user, as
 * they do for the identity (reference: Tokens of users).
 */
export function limitKeyOf({ keyMac, userEmail }: Credentials): string {
  return keyMac === null ? `user ${lowerAToZ(userEmail ?? '')}` : keyMac.toString('base64url')
}

/** A request that its client may send again and that must take effect only once (reference: Idempotency-Key). */
export interface IdempotentRequest {
  readonly method: string
  /** The normalized path: ids in lower case, no slash at the end. */
  readonly path: string
  /** A digest of the Idempotency-Key. The service stores the digest instead of the key. */
  readonly key: string
  /** The SHA-256 of the parsed body. */
  readonly fingerprint: Buffer
}

/**
 * The sender of a change and its Idempotency-Key: the argument `caller` of SQL functions. The database checks the credentials.
 */
export interface Caller extends Credentials {
  /** `undefined` if the request has no Idempotency-Key. */
  readonly idempotentRequest: IdempotentRequest | undefined
  /** `requireAccess` calls this function with the id of the caller's identity, for the log. */
  readonly onIdentified?: (identityId: string) => void
}

export interface CallerColumns extends Credentials {
  readonly method: string | null
  readonly path: string | null
  readonly idempotencyKey: string | null
  readonly fingerprint: Buffer | null
}

/** Converts a caller to the input of a prepared query: `{ ...callerColumns(caller), merchantId }`. */
export function callerColumns({ keyMac, userEmail, idempotentRequest }: Caller): CallerColumns {
  const { method = null, path = null, key = null, fingerprint = null } = idempotentRequest ?? {}
  return { keyMac, userEmail, method, path, idempotencyKey: key, fingerprint }
}

/**
 * The trusted caller: operators, jobs and acquirers. SQL functions check no access for it, because the operator's role or the
 * service has already granted access.
 */
export const TRUSTED_CALLER: Caller = { keyMac: null, userEmail: null, idempotentRequest: undefined }
export const TRUSTED_COLUMNS: CallerColumns = callerColumns(TRUSTED_CALLER)

export function callerRow(p: CallerColumns): RawBuilder<unknown> {
  return sql`ROW(
    ${p.keyMac}::bytea, ${p.userEmail}::text, ${p.method}::text, ${p.path}::text, ${p.idempotencyKey}::text,
    ${p.fingerprint}::bytea
  )::${sql.table('caller')}`
}
