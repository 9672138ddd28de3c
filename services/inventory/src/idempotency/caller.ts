import { type RawBuilder, sql } from 'kysely'

/** A request that its client may send again and that must have one effect. */
export interface Repeat {
  /** The Idempotency-Key. */
  readonly key: string
  readonly path: string
  /** SHA-256 of the request as it was understood. */
  readonly requestHash: Buffer
}

/** Who asks for a change. */
export interface Caller {
  /** `sub` of the token; null where the service does not know its callers. */
  readonly actor: string | null
  /** Set when the request has an Idempotency-Key. */
  readonly repeat: Repeat | undefined
}

/** The members of an input that make the row `caller`. */
export interface CallerColumns {
  readonly actor: string | null
  readonly key: string | null
  readonly path: string | null
  readonly requestHash: Buffer | null
}

/** A caller as input of a prepared query: `{ ...callerColumns(caller), id }`. */
export function callerColumns({ actor, repeat }: Caller): CallerColumns {
  return { actor, key: repeat?.key ?? null, path: repeat?.path ?? null, requestHash: repeat?.requestHash ?? null }
}

/** The row `caller` in a prepared query, made of the members of its input. */
export function callerRow(p: CallerColumns): RawBuilder<unknown> {
  return sql`ROW(${p.actor}::text, ${p.key}::text, ${p.path}::text, ${p.requestHash}::bytea)::${sql.table('caller')}`
}
