import { CHAIN_START, hashOf, type LedgerLink, type Link, type TrailRow } from './chain.ts'
import { checkMove, isInFunding, isKindOf, isLineOf, type MoveState } from './currency-move.ts'
import { type Finding, findingsOf } from './invariants.ts'
import type { EntriesTable, JournalsTable, LineKind, LinesTable } from './ledger-tables.ts'

/** The end of a chain: the number of links, and the hash of the last. */
export interface ChainHead {
  readonly length: bigint
  readonly head: Buffer
}

/** The end of a ledger, as the row of the merchant's balance has it. `balance`: minor units of the merchant's currency. */
export interface LedgerHead extends ChainHead {
  readonly balance: bigint
  readonly lineCount: bigint
}

/** The place in a chain that a check has reached. */
export interface ChainState {
  /** The end of the chain so far, by its rows. */
  chain: ChainHead
  /** The end that an operator kept elsewhere. Undefined once it was reached. */
  notedHead: ChainHead | undefined
}

/**
 * Sums over the links checked so far, in minor units: of the merchant's currency of each link where no other is named. A move to
 * the euro leaves 0 in the currency of before, so the sums go on from there.
 */
export interface LinkState extends ChainState, MoveState {
  balance: bigint
  lines: bigint
  fees: bigint
  entries: bigint
  trailEntries: bigint
  booked: { balance: bigint; lines: bigint; fees: bigint }
  /** Sums of the account `payout_clearing`, by currency. */
  readonly payoutClearing: Map<string, bigint>
  trail: TrailRow | undefined
  /** Whether it is a test merchant. Undefined when its row is gone. */
  readonly test: boolean | undefined
}

/** The state of a check before its first link. `notedHead`: the end of the chain that was noted earlier. */
export function startChain(notedHead: ChainHead | undefined): ChainState {
  return { chain: { length: 0n, head: CHAIN_START }, notedHead: notedHead?.length === 0n ? undefined : notedHead }
}

/**
 * The state of a check of the ledger before its first link. `test`: whether the merchant is one; undefined when it is gone, as
 * is `funding`.
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

/** Checks the sums of a ledger after its last link. `entries`: how many the database has below the merchant. */
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

/** Checks the end of a chain after its last link. `end`: by the row of the merchant's balance, if there is one. */
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
 * Checks that the next link follows from the stored hash of the link before. So one altered row is one finding, not one
 * for each later link.
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
