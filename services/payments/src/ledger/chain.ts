import { createHash } from 'node:crypto'
import { type Column, canonicalBytes } from './canonical-bytes.ts'
import type { EntriesTable, JournalsTable, LinesTable, StateEntriesTable, TrailEntriesTable } from './ledger-tables.ts'

/** A trail entry whose day of the rate is text, because a Date has a time. */
export type TrailRow = Omit<TrailEntriesTable, 'rate_date'> & { readonly rate_date: string | null }

/** A row of the ledger that is a link of its merchant's chain. */
export type LedgerLink =
  | { readonly table: 'journals'; readonly row: JournalsTable; readonly entries: readonly EntriesTable[] }
  | { readonly table: 'trail_entries'; readonly row: TrailRow }
  | { readonly table: 'lines'; readonly row: LinesTable }

/** A link of the merchant's chain of states: digests of a row that moves money, or names who gets it. */
export interface StateLink {
  readonly table: 'state_entries'
  readonly row: StateEntriesTable
}

export type Link = LedgerLink | StateLink

/** The hash before the first link of a chain. */
export const CHAIN_START = Buffer.alloc(32)

/**
 * The hash that a link must have: SHA-256 of its version, the previous hash, and its row without its hash; for a
 * journal also of its entries, in order. The SQL functions `post` and `record_states` compute the same (reference:
 * Chain of the ledger).
 */
export function hashOf(link: Link, previous: Buffer): Buffer {
  return createHash('sha256').update(Buffer.of(link.row.hash_version)).update(previous).update(bytesOf(link)).digest()
}

function bytesOf(link: Link): Buffer {
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

/** The columns that all links have stand around the columns of the table. The hash itself counts as NULL. */
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
