import { CHAIN_START, hashOf, type LedgerLink, type Link, type TrailRow } from './chain.ts'
import { checkMove, isInFunding, isKindOf, isLineOf, type MoveState } from './currency-move.ts'
import { type Finding, findingsOf } from './invariants.ts'
import type { EntriesTable, JournalsTable, LineKind, LinesTable } from './ledger-tables.ts'

/** The end of a chain: the number of links, and the hash of the last link. */
export interface ChainHead {
  readonly length: bigint
  readonly head: Buffer
}

/** The end of a ledger in the row of the balance. `balance` is in minor units of the merchant's currency. */
export interface LedgerHead extends ChainHead {
  readonly balance: bigint
  readonly lineCount: bigint
}

/** How far the check of a chain has come. */
export interface ChainState {
  /** The end of the checked part, computed from its rows. */
  chain: ChainHead
  /** A chain end that the operator noted outside the database. `undefined` if there is none or the check has passed it. */
  notedHead: ChainHead | undefined
}

/**
 * Sums over the links checked so far. Unless stated otherwise, they are in minor units of the merchant's currency at the link. A
 * move to the euro reduces the balance in the former currency to 0, so the same sums continue in euro.
 */
export interface LinkState extends ChainState, MoveState {
  balance: bigint
  lines: bigint
  fees: bigint
  entries: bigint
  trailEntries: bigint
  booked: { balance: bigint; lines: bigint; fees: bigint }
  /** The sums of the account `payout_clearing`, by currency. */
  readonly payoutClearing: Map<string, bigint>
  trail: TrailRow | undefined
  /** Whether the merchant is a test merchant. `undefined` if its row is missing. */
  readonly test: boolean | undefined
}

/** The state before the first link. @param notedHead the end of the chain that the operator noted earlier */
export function startChain(notedHead: ChainHead | undefined): ChainState {
  return { chain: { length: 0n, head: CHAIN_START }, notedHead: notedHead?.length === 0n ? undefined : notedHead }
}

/**
 * Returns the state of a ledger check before its first link. `test` says whether the merchant is a test merchant. `test` and
 * `funding` are `undefined` if the row of the merchant is missing.
 */
export function startCheck(
  notedHead: ChainHead | undefined,
  { test, funding }: Pick<LinkState, 'test' | 'funding'>,
): LinkState {
  return {
    test,
    funding,
    closed: undefined,
    ...startChain(notedHead),
    balance: 0n,
    lines: 0n,
    fees: 0n,
    entries: 0n,
    trailEntries: 0n,
    booked: { balance: 0n, lines: 0n, fees: 0n },
    payoutClearing: new Map(),
    journal: undefined,
    trail: undefined,
  }
}

/** Checks the next link of a merchant's ledger and adds it to the state (reference: Chain of the ledger). */
export function checkLink(state: LinkState, link: LedgerLink): readonly Finding[] {
  const findings = followChain(state, link)
  switch (link.table) {
    case 'journals':
      return [...findings, ...checkJournal(state, link.row, link.entries)]
    case 'trail_entries':
      return [...findings, ...checkTrailEntry(state, link.row)]
    case 'lines':
      return [...findings, ...checkLine(state, link.row)]
  }
}

/** Checks the sums of a ledger after its last link. @param entries the number of the merchant's entries */
export function endCheck(state: LinkState, row: LedgerHead, entries: bigint): readonly Finding[] {
  const { booked } = state
  return findingsOf([
    ['balance', state.balance === row.balance, `the lines sum to ${state.balance}, the balance is ${row.balance}`],
    ['balance', booked.balance === row.balance, `the entries sum to ${booked.balance}, the balance is ${row.balance}`],
    ['fees', booked.fees === state.fees, `fees of ${state.fees} are in the lines, of ${booked.fees} in the entries`],
    [
      'lineOfJournal',
      booked.lines === state.lines,
      `${booked.lines} journals should have a line, ${state.lines} lines are there`,
    ],
    ['lineOfJournal', row.lineCount === state.lines, `${row.lineCount} lines were counted, ${state.lines} are there`],
    [
      'currency',
      (state.closed === undefined) === (state.funding?.move === undefined),
      'its balance was closed, but not opened in another currency, or the other way round',
    ],
    ['entriesSumToZero', entries === state.entries, `${entries - state.entries} entries belong to no journal`],
  ])
}

/** Checks the end of a chain. @param end the end in the row of the merchant's balance, if that row exists */
export function endChain({ chain, notedHead }: ChainState, end: ChainHead | undefined): readonly Finding[] {
  const { length, head } = end ?? chain
  return findingsOf([
    [
      'chain',
      notedHead === undefined,
      `the chain of ${chain.length} links has lost those up to the ${notedHead?.length}th`,
    ],
    ['chain', chain.length === length && chain.head.equals(head), 'the chain does not end in the head of the merchant'],
  ])
}

/**
 * Checks the next link against the stored hash of the link before it. So one altered row causes one finding, and the later links
 * cause none.
 */
export function followChain(state: ChainState, link: Link): readonly Finding[] {
  const { chain, notedHead } = state
  const follows = hashOf(link, chain.head).equals(link.row.hash)
  const length = chain.length + 1n
  state.chain = { length, head: link.row.hash }
  const matchesNote = notedHead?.length !== length || notedHead.head.equals(link.row.hash)
  if (notedHead?.length === length) state.notedHead = undefined
  return findingsOf([
    ['chain', follows, 'does not follow from the rows before it: it was altered, or one was put in or taken out'],
    ['chain', matchesNote, `is not the ${length}th link that was kept: the chain was rewritten`],
  ])
}

const MIXED = 'is test at a live merchant, or live at a test one'

const KINDS_WITHOUT_LINE: ReadonlySet<string> = new Set(['payoutSettled', 'schemeSettled'])

function checkJournal(state: LinkState, row: JournalsTable, entries: readonly EntriesTable[]): readonly Finding[] {
  const { booked, payoutClearing } = state
  const sums = new Map<string, bigint>()
  for (const { account, currency, amount } of entries) {
    sums.set(currency, (sums.get(currency) ?? 0n) + amount)
    if (account === 'merchant') booked.balance += amount
    if (account === 'fee_income') booked.fees += amount
    if (account === 'payout_clearing') payoutClearing.set(currency, (payoutClearing.get(currency) ?? 0n) + amount)
  }
  if (!KINDS_WITHOUT_LINE.has(row.kind)) booked.lines += 1n
  state.entries += BigInt(entries.length)
  state.journal = row
  return findingsOf([
    [
      'currency',
      isInFunding(entries, state.funding, row.id),
      'moves the balance or fees in another currency than that of the merchant',
    ],
    ['entriesSumToZero', [...sums.values()].every((sum) => sum === 0n), 'its entries do not sum to zero'],
    ['entriesSumToZero', entries.every(({ test }) => test === row.test), 'its entries are partly test, partly live'],
    ['terms', row.test === (state.test ?? row.test), MIXED],
    ['terms', row.kind !== 'schemeSettled' || row.cause_id !== row.id, 'settles without a reference of the acquirer'],
  ])
}

function checkTrailEntry(state: LinkState, row: TrailRow): readonly Finding[] {
  state.trailEntries += 1n
  state.trail = row
  return findingsOf([
    [
      'trailLine',
      row.line_id === null || state.journal?.cause_id === row.id,
      'is not the cause of the journal before it',
    ],
  ])
}

const KINDS_OF_CARDS: ReadonlySet<LineKind> = new Set(['capture', 'refund', 'dispute'])

function checkLine(state: LinkState, row: LinesTable): readonly Finding[] {
  const { journal, trail } = state
  state.balance += row.balance
  state.lines += 1n
  state.fees += row.fee
  return findingsOf([
    [
      'balanceAfter',
      row.balance_after === state.balance,
      `says ${row.balance_after} after it; the lines sum to ${state.balance}`,
    ],
    [
      'lineOfJournal',
      journal?.id === row.journal_id && isKindOf(journal, row.kind),
      'is not the line of the journal before it',
    ],
    [
      'available',
      row.kind !== 'payout' || row.balance_after >= 0n,
      `pays out more than the balance: ${row.balance_after} after it`,
    ],
    ['terms', row.test === (state.test ?? row.test), MIXED],
    [
      'trailLine',
      !KINDS_OF_CARDS.has(row.kind) || isLineOf(row, trail, state.funding?.move),
      'differs from the trail entry before it',
    ],
    ...checkMove(state, row),
  ])
}
