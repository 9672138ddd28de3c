import { type RawBuilder, sql } from 'kysely'

/** A request that its client may send again, and that must have its effect once (reference: Idempotency keys). */
export interface Repeat {
  /** The path of the request, the same for every spelling of its URL. */
  readonly path: string
  /** The Idempotency-Key. */
  readonly key: string
  /** SHA-256 of the request as it was understood. */
  readonly fingerprint: Buffer
}

/** The sender of a change, and its Idempotency-Key: what SQL functions take as a `caller`. */
export interface Caller {
  /** `sub` of the token; null when authentication is off. */
  readonly actor: string | null
  /** Undefined when the request has no Idempotency-Key. */
  readonly repeat: Repeat | undefined
}

/** The input of a prepared query that `callerRow` needs. */
export interface CallerColumns {
  readonly actor: string | null
  readonly path: string | null
  readonly idempotencyKey: string | null
  readonly fingerprint: Buffer | null
}

/** Turns a caller into the input of a prepared query: `{ ...callerColumns(caller), id }`. */
export function callerColumns({ actor, repeat }: Caller): CallerColumns {
  const { path = null, key = null, fingerprint = null } = repeat ?? {}
  return { actor, path, idempotencyKey: key, fingerprint }
}

/** The argument of type `caller` that SQL functions take. */
export function callerRow(p: CallerColumns): RawBuilder<unknown> {
  return sql`ROW(${p.actor}::text, ${p.idempotencyKey}::text, ${p.path}::text, ${p.fingerprint}::bytea)::${sql.table('caller')}`
}
