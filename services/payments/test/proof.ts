import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { STATES } from '../src/ledger/states.ts'

/** Tables of which every column is hashed into one of the two chains. */
const CHAINED = ['journals', 'entries', 'trail_entries', 'lines', 'state_entries'] as const

/** Columns, by table, that the proof compares with the result of the chains. */
const COMPARED: Readonly<Record<string, readonly string[]>> = {
  merchants: ['id'],
  merchant_balances: [
    'merchant_id',
    'currency',
    'balance',
    'line_count',
    'chain_head',
    'chain_length',
    'state_head',
    'state_length',
  ],
  transactions: ['merchant_id', 'id', 'pending', 'captured', 'refunded', 'voided', 'disputed', 'lost', 'trail_length'],
  instruments: ['merchant_id', 'id'],
  cards: ['merchant_id', 'id'],
  disputes: ['merchant_id', 'id'],
  acquirer_operations: ['merchant_id', 'id'],
  acquirer_exceptions: ['merchant_id', 'id'],
  payouts: ['merchant_id', 'id'],
}

/** Tables below a merchant with columns that the proof covers. */
export const PROVEN_TABLES: readonly string[] = [...CHAINED, ...Object.keys(COMPARED)]

/** Whether `ledger verify` finds an altered byte in the column. */
export function isProven(table: string, column: string): boolean {
  if (CHAINED.some((name) => name === table)) return true
  return COMPARED[table]?.includes(column) === true || digestsOf(table).includes(column)
}

function digestsOf(table: string): readonly string[] {
  const columns = Object.entries(STATES).flatMap(([name, { money, party, terms }]) =>
    [...money, ...party, ...terms].map((column) => [column.startsWith('i.') ? 'instruments' : name, column.slice(2)]),
  )
  return columns.flatMap(([name, column]) => (name === table && column !== undefined ? [column] : []))
}

/** Reads which columns the README of the ledger leaves out of the proof, as `table.column`, or `table.*` for a whole table. */
export function readLeftOut(): readonly string[] {
  const text = readFileSync(join(import.meta.dirname, '../src/ledger/README.md'), 'utf8')
  const [, section = ''] = text.split('## What the proof leaves out')
  return [...section.matchAll(/^\| `(\w+)` \| ([^|]+) \| [^|]{20,} \|$/gm)].flatMap(([, table, columns = '']) =>
    columns.trim() === 'all' ? [`${table}.*`] : [...columns.matchAll(/`(\w+)`/g)].map(([, name]) => `${table}.${name}`),
  )
}
