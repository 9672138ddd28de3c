import { type RawBuilder, sql } from 'kysely'

/** The Idempotency-Key of a request, and what tells the same request from another one. */
export interface Repeat {
  /** The Idempotency-Key. */
  readonly key: string
  readonly path: string
  /** SHA-256 of the request as it was understood. */
  readonly fingerprint: Buffer
}

/** Who asks for a change. */
export interface Caller {
  /** `sub` of the token; null when authentication is off. */
  readonly actor: string | null
  /** Undefined when the request has no Idempotency-Key. */
  readonly repeat: Repeat | undefined
}

/** The inputs of a prepared query that make the SQL row `caller`. */
export interface CallerColumns {
  readonly actor: string | null
  readonly key: string | null
  readonly path: string | null
  readonly fingerprint: Buffer | null
}

/** A caller as inputs of a prepared query: `{ ...callerColumns(caller), id }`. */
export function callerColumns({ actor, repeat }: Caller): CallerColumns {
  return { actor, key: repeat?.key ?? null, path: repeat?.path ?? null, fingerprint: repeat?.fingerprint ?? null }
}

/** The SQL row `caller` in a prepared query. */
export function callerRow(p: CallerColumns): RawBuilder<unknown> {
  return sql`ROW(${p.actor}::text, ${p.key}::text, ${p.path}::text, ${p.fingerprint}::bytea)::${sql.table('caller')}`
}
