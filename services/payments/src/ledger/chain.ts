import { createHash } from 'node:crypto'
import type { EntriesTable, JournalsTable, LinesTable, StateEntriesTable, TrailEntriesTable } from './ledger-tables.ts'

/** A trail entry with the day of its rate as text, because a `Date` also has a time. */
export type TrailRow = Omit<TrailEntriesTable, 'rate_date'> & { readonly rate_date: string | null }

/** A row of the ledger. Each row is a link of its merchant's chain. */
export type LedgerLink =
  | { readonly table: 'journals'; readonly row: JournalsTable; readonly entries: readonly EntriesTable[] }
  | { readonly table: 'trail_entries'; readonly row: TrailRow }
  | { readonly table: 'lines'; readonly row: LinesTable }

/** A link of the chain of states: digests of a row that moves money or names its recipient. */
export interface StateLink {
  readonly table: 'state_entries'
  readonly row: StateEntriesTable
}

export type Link = LedgerLink | StateLink

/** The hash before the first link of a chain. */
export const CHAIN_START = Buffer.alloc(32)

/**
 * Returns the correct hash of a link: SHA-256 of its version, the previous hash, and its row without the hash. The hash of a
 * journal also covers its entries, in order. The SQL functions `post` and `record_states` compute the same hash (reference: Chain
 * of the ledger).
 */
export function hashOf(link: Link, previous: Buffer): Buffer {
  return createHash('sha256')
    .update(Buffer.of(link.row.hash_version))
    .update(previous)
    .update(bytesOfLink(link))
    .digest()
}

function bytesOfLink(link: Link): Buffer {
  switch (link.table) {
    case 'journals':
      return Buffer.concat([journalBytes(link.row), ...link.entries.map(entryBytes)])
    case 'trail_entries':
      return trailBytes(link.row)
    case 'lines':
      return lineBytes(link.row)
    case 'state_entries':
      return stateBytes(link.row)
  }
}

interface HashedRow {
  readonly merchant_id: string
  readonly id: string
  readonly created: Date
  readonly hash_version: number
}

/** Returns the bytes of a link: the shared columns around those of its table, with NULL for the hash itself. */
function linkBytes({ merchant_id, id, created, hash_version }: HashedRow, own: readonly Column[]): Buffer {
  return canonicalBytes([
    ['text', merchant_id],
    ['text', id],
    ['timestamptz', created],
    ...own,
    ['bytea', null],
    ['smallint', hash_version],
  ])
}

function journalBytes(row: JournalsTable): Buffer {
  return linkBytes(row, [
    ['text', row.kind],
    ['text', row.cause_id],
    ['boolean', row.test],
  ])
}

function entryBytes(row: EntriesTable): Buffer {
  return canonicalBytes([
    ['text', row.merchant_id],
    ['text', row.journal_id],
    ['smallint', row.seq],
    ['text', row.account],
    ['text', row.currency],
    ['bigint', row.amount],
    ['boolean', row.test],
  ])
}

function trailBytes(row: TrailRow): Buffer {
  return linkBytes(row, [
    ['text', row.transaction_id],
    ['integer', row.seq],
    ['text', row.kind],
    ['bigint', row.amount],
    ['bigint', row.gross],
    ['bigint', row.fee_flat],
    ['bigint', row.fee_rate],
    ['bigint', row.balance],
    ['text', row.descriptor],
    ['text', row.reference],
    ['text', row.line_id],
    ['text', row.dispute_id],
    ['text', row.rate],
    ['date', row.rate_date],
  ])
}

function lineBytes(row: LinesTable): Buffer {
  return linkBytes(row, [
    ['text', row.kind],
    ['bigint', row.balance],
    ['bigint', row.fee],
    ['text', row.description],
    ['text', row.transaction_id],
    ['bigint', row.amount],
    ['text', row.currency],
    ['bigint', row.balance_after],
    ['text', row.journal_id],
    ['boolean', row.test],
  ])
}

function stateBytes(row: StateEntriesTable): Buffer {
  return linkBytes(row, [
    ['text', row.table_name],
    ['text', row.row_id],
    ['bytea', row.money],
    ['bytea', row.party],
    ['bytea', row.terms],
    ['text', row.login],
  ])
}

/** A column that is hashed: its PostgreSQL type and its value. */
export type Column =
  | readonly ['text', string | null]
  | readonly ['bigint' | 'integer' | 'smallint', bigint | number | null]
  | readonly ['boolean', boolean | null]
  | readonly ['timestamptz', Date | null]
  /** A day, such as `2026-03-01`. */
  | readonly ['date', string | null]
  | readonly ['bytea', Buffer | null]

/** The object ids of types in PostgreSQL's catalogue. PostgreSQL never changes them. */
const TYPE_IDS = {
  boolean: 16,
  bytea: 17,
  bigint: 20,
  smallint: 21,
  integer: 23,
  text: 25,
  date: 1082,
  timestamptz: 1184,
} as const

/**
 * Returns the bytes of a row in the format of PostgreSQL's `record_send`. The format begins with the number of columns. Each
 * column follows with its type, the length of its value (-1 for NULL) and the value. Different rows have different bytes.
 */
export function canonicalBytes(columns: readonly Column[]): Buffer {
  const parts = [int32(columns.length)]
  for (const column of columns) {
    const value = bytesOf(column)
    parts.push(int32(TYPE_IDS[column[0]]), int32(value?.length ?? -1))
    if (value) parts.push(value)
  }
  return Buffer.concat(parts)
}

/** The start of PostgreSQL's time scale (2000-01-01), in milliseconds since 1970. */
const EPOCH_MS = Date.UTC(2000, 0, 1)
const DAY_MS = 86_400_000

function bytesOf(column: Column): Buffer | undefined {
  const [type, value] = column
  if (value === null) return undefined
  switch (type) {
    case 'text':
      return Buffer.from(value, 'utf8')
    case 'bytea':
      return value
    case 'boolean':
      return Buffer.of(value ? 1 : 0)
    case 'bigint':
      return int64(BigInt(value))
    case 'integer':
      return int32(Number(value))
    case 'smallint':
      return int32(Number(value)).subarray(2)
    case 'timestamptz':
      return int64(microsecondsOf(value))
    case 'date':
      return int32((Date.parse(value) - EPOCH_MS) / DAY_MS)
  }
}

/** The number that stands for PostgreSQL's `infinity`. No function of the service writes it. */
const INFINITY = 2n ** 63n - 1n

function microsecondsOf(value: Date): bigint {
  const ms = Number(value) - EPOCH_MS
  return Number.isFinite(ms) ? BigInt(ms) * 1_000n : INFINITY
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}

function int64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigInt64BE(value)
  return bytes
}
