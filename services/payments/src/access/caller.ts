import { type RawBuilder, sql } from 'kysely'

/** Who asks: the digest of an app's key, or the verified e-mail address of a person. One of them is null. */
export interface Credentials {
  readonly keyMac: Buffer | null
  readonly person: string | null
}

/** A request that its client may send again and that must have one effect (reference: Idempotency-Key). */
export interface Repeat {
  readonly method: string
  /** In one spelling: ids in lower case, no slash at the end. */
  readonly path: string
  /** The Idempotency-Key. */
  readonly key: string
  /** SHA-256 of the body as it was understood. */
  readonly fingerprint: Buffer
}

/** Who calls, and the identity once the database has told it. */
export interface Caller extends Credentials {
  /** For the log line; set by `admit`. */
  identityId: string | undefined
  /** Set when the request has an Idempotency-Key; undefined otherwise. */
  repeat: Repeat | undefined
}

/** The members of an input that make the row `caller`, which the functions of the database take. */
export interface CallerColumns extends Credentials {
  readonly method: string | null
  readonly path: string | null
  readonly idempotencyKey: string | null
  readonly fingerprint: Buffer | null
}

/** Nobody: what an operator, a job or an acquirer does. Functions that take it judge no access. */
export const OPERATOR: CallerColumns = {
  keyMac: null,
  person: null,
  method: null,
  path: null,
  idempotencyKey: null,
  fingerprint: null,
}

/** A caller as input of a prepared query: `{ ...callerColumns(caller), merchantId }`. */
export function callerColumns({ keyMac, person, repeat }: Omit<Caller, 'identityId'>): CallerColumns {
  const { method = null, path = null, key = null, fingerprint = null } = repeat ?? {}
  return { keyMac, person, method, path, idempotencyKey: key, fingerprint }
}

/** The row `caller` in a prepared query, made of the members of its input. */
export function callerRow(p: CallerColumns): RawBuilder<unknown> {
  return sql`ROW(
    ${p.keyMac}::bytea, ${p.person}::text, ${p.method}::text, ${p.path}::text, ${p.idempotencyKey}::text,
    ${p.fingerprint}::bytea
  )::${sql.table('caller')}`
}
