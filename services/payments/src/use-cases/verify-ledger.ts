import type { Db } from '../database.ts'
import {
  type ChainHead,
  checkLink,
  endChain,
  endCheck,
  followChain,
  type LinkState,
  startChain,
  startCheck,
} from '../ledger/check-links.ts'
import { type Finding, INVARIANTS, type Invariant } from '../ledger/invariants.ts'
import {
  findVerifiedRows,
  listUnnamedRows,
  runOnSnapshot,
  streamLedgerIds,
  streamLinks,
  streamStates,
  type VerifiedBalance,
  type VerifiedRows,
} from '../ledger/ledger-repository.ts'
import { listChangedRows } from '../ledger/states.ts'
import { listStrayTerms } from '../ledger/terms.ts'
import { checkFigures, streamFigures } from '../ledger/transaction-figures.ts'

/** A broken invariant of a ledger. */
export interface Violation {
  readonly merchantId: string
  readonly invariant: Invariant
  /** The table of the row that breaks the invariant. `null` if the invariant concerns the merchant's ledger as a whole. */
  readonly table: string | null
  readonly id: string | null
  readonly message: string
}

/** The ends of a merchant's chains. `states` is `undefined` in lists from before the chain of states existed. */
export interface ChainHeads {
  readonly ledger: ChainHead
  readonly states: ChainHead | undefined
}

/** The result for one merchant: its first violations, and the ends of its chains. */
export interface VerifiedMerchant {
  readonly merchantId: string
  readonly ledger: ChainHead
  readonly states: ChainHead
  readonly violations: readonly Violation[]
}

const VIOLATIONS_MAX = 100
const EMPTY_CHAIN: ChainHead = { length: 0n, head: Buffer.alloc(0) }

/**
 * Recomputes the ledgers of all merchants, one after another, and compares them with the noted chain heads (reference:
 * Verification). Each ledger is read in one snapshot. Memory does not grow with the ledger. Of invariant 12, only two parts can
 * be checked later: no payout has left the balance below 0, and the clock of a live merchant is not ahead.
 */
export async function* verifyLedger(
  db: Db,
  {
    merchantId,
    heads,
  }: {
    /** The only merchant to verify. `undefined` for all merchants. */
    readonly merchantId: string | undefined
    /** The noted ends of chains, by merchant. */
    readonly heads: ReadonlyMap<string, ChainHeads>
  },
): AsyncGenerator<VerifiedMerchant> {
  const missing = new Set(merchantId === undefined ? heads.keys() : [merchantId])
  for await (const id of merchantId === undefined ? streamLedgerIds(db) : [merchantId]) {
    const verified = await verifyMerchant(db, id, { heads: heads.get(id), isListed: merchantId === undefined })
    if (!verified) continue
    missing.delete(id)
    yield verified
  }
  for (const id of missing) {
    const violation = { merchantId: id, invariant: INVARIANTS.chain, table: null, id: null }
    const violations = [{ ...violation, message: 'the merchant has no ledger' }]
    yield { merchantId: id, ledger: EMPTY_CHAIN, states: EMPTY_CHAIN, violations }
  }
}

/** Verifies one merchant. Returns `undefined` if the database has no ledger of the merchant and no list of heads names it. */
function verifyMerchant(
  db: Db,
  merchantId: string,
  { heads, isListed }: { readonly heads: ChainHeads | undefined; readonly isListed: boolean },
): Promise<VerifiedMerchant | undefined> {
  return runOnSnapshot(db, async (trx) => {
    const violations: Violation[] = []
    const add = (findings: readonly Finding[], table: string | null, id: string | null) => {
      for (const [invariant, message] of findings) {
        if (violations.length < VIOLATIONS_MAX) violations.push({ merchantId, invariant, table, id, message })
      }
    }
    const { merchant, balance, entries, unsettled, move } = await findVerifiedRows(trx, merchantId)
    const funding = merchant && { currency: merchant.currency, move }
    const ledger = startCheck(heads?.ledger, { test: merchant?.test, funding })
    for await (const link of streamLinks(trx, merchantId)) add(checkLink(ledger, link), link.table, link.row.id)
    const states = startChain(heads?.states)
    for await (const link of streamStates(trx, merchantId)) add(followChain(states, link), link.table, link.row.id)
    if (!isListed && !merchant && !balance && ledger.chain.length + states.chain.length + entries === 0n)
      return undefined
    if (!merchant) add([[INVARIANTS.recordedRows, 'is gone']], 'merchants', merchantId)
    if (!balance) add([[INVARIANTS.recordedRows, 'is gone']], 'merchant_balances', merchantId)
    add(endChain(ledger, balance), 'merchant_balances', merchantId)
    add(endChain(states, balance?.states), 'merchant_balances', merchantId)
    if (balance) {
      add(endCheck(ledger, balance, entries), 'merchant_balances', merchantId)
      add(checkBalance(balance, merchant), 'merchant_balances', merchantId)
    }
    add(checkClearing(ledger, unsettled), null, null)
    let trailEntries = 0n
    for await (const figures of streamFigures(trx, merchantId, move)) {
      trailEntries += figures.trail_entries
      add(checkFigures(figures), 'transactions', figures.id)
    }
    if (trailEntries !== ledger.trailEntries)
      add([[INVARIANTS.trailAmounts, 'trail entries belong to no transaction']], null, null)
    for (const { table, id, findings } of await listUnnamedRows(trx, merchantId)) add(findings, table, id)
    for (const { table, id, findings } of await listChangedRows(trx, merchantId)) add(findings, table, id)
    for (const { table, id, findings } of await listStrayTerms(trx, merchantId, move)) add(findings, table, id)
    return { merchantId, ledger: ledger.chain, states: states.chain, violations }
  })
}

/** Only the clock of a test merchant may be ahead, because live payouts use the clock of the database. */
function checkBalance(
  { currency, clockOffset }: VerifiedBalance,
  merchant: VerifiedRows['merchant'],
): readonly Finding[] {
  const findings: Finding[] = []
  if (merchant && merchant.currency !== currency)
    findings.push([INVARIANTS.balance, `is in ${currency}, not ${merchant.currency}`])
  if (merchant && !merchant.test && clockOffset !== 0n)
    findings.push([INVARIANTS.available, `the clock runs ${clockOffset} s ahead`])
  return findings
}

/** Compares clearing and unsettled payouts by currency. Payouts keep their currency after a move to the euro. */
function checkClearing({ payoutClearing }: LinkState, unsettled: VerifiedRows['unsettled']): readonly Finding[] {
  return [...new Set([...payoutClearing.keys(), ...unsettled.keys()])].flatMap((currency) => {
    const [clearing, waiting] = [payoutClearing.get(currency) ?? 0n, unsettled.get(currency) ?? 0n]
    if (clearing === waiting) return []
    return [[INVARIANTS.payoutClearing, `${clearing} waits for the bank, payouts of ${waiting} do`] as const]
  })
}
