import { CHAIN_START, hashOf, type LedgerLink, type StateLink } from '../src/ledger/chain.ts'

const merchant_id = '0123456789abcdef01234567'
const HASHED = { merchant_id, created: new Date('2026-03-01T10:20:30.123Z'), hash: CHAIN_START, hash_version: 1 }
const journalId = `1${'0'.repeat(23)}`
const trailId = `2${'0'.repeat(23)}`
const lineId = `3${'0'.repeat(23)}`
const entry = { merchant_id, journal_id: journalId, currency: 'EUR', test: true }

/** The journal, the trail entry and the line of a capture of 1,000 with a fee of 35. Their hashes are not set. */
export const captureLinks = {
  journal: {
    table: 'journals',
    row: { ...HASHED, id: journalId, kind: 'capture', cause_id: trailId, test: true },
    entries: [
      { ...entry, seq: 1, account: 'scheme_receivable', amount: -1_000n },
      { ...entry, seq: 2, account: 'fee_income', amount: 35n },
      { ...entry, seq: 3, account: 'merchant', amount: 965n },
    ],
  },
  trail: {
    table: 'trail_entries',
    row: {
      ...HASHED,
      id: trailId,
      transaction_id: 'a'.repeat(24),
      seq: 1,
      kind: 'capture',
      amount: 1_000n,
      gross: 1_000n,
      fee_flat: 25n,
      fee_rate: 10n,
      balance: 965n,
      descriptor: 'Coffee',
      reference: 'r',
      line_id: lineId,
      dispute_id: null,
      rate: null,
      rate_date: null,
    },
  },
  line: {
    table: 'lines',
    row: {
      ...HASHED,
      id: lineId,
      kind: 'capture',
      balance: 965n,
      fee: 35n,
      description: null,
      transaction_id: 'a'.repeat(24),
      amount: 1_000n,
      currency: 'EUR',
      balance_after: 965n,
      journal_id: journalId,
      test: true,
    },
  },
} as const satisfies Readonly<Record<string, LedgerLink>>

/** The links of a capture in the order of their ids. */
export type CaptureLinks = readonly [
  Extract<LedgerLink, { table: 'journals' }>,
  Extract<LedgerLink, { table: 'trail_entries' }>,
  Extract<LedgerLink, { table: 'lines' }>,
]

/** A link of the chain of states. Its hash is not set. */
export const stateLink = {
  table: 'state_entries',
  row: {
    ...HASHED,
    id: `4${'0'.repeat(23)}`,
    table_name: 'merchants',
    row_id: merchant_id,
    money: Buffer.from('money'),
    party: Buffer.from('party'),
    terms: Buffer.from('terms'),
    login: 'trestle',
  },
} as const satisfies StateLink

/** Gives each link the hash that it must have behind the links before it. */
export function chainLinks(links: readonly LedgerLink[]): readonly LedgerLink[] {
  let head: Buffer = CHAIN_START
  for (const link of links) {
    head = hashOf(link, head)
    link.row.hash = head
  }
  return links
}
