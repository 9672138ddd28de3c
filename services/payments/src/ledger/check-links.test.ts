import { describe, expect, it } from 'vitest'
import { type CaptureLinks, captureLinks, chainLinks } from '../../test/sample-links.ts'
import { CHAIN_START, type LedgerLink } from './chain.ts'
import { type ChainHead, checkLink, endChain, endCheck, startCheck } from './check-links.ts'

/** Returns a ledger of one capture, after a test has changed it. The rows have correct hashes. */
function createLedger(change: (links: CaptureLinks) => void = () => {}): readonly LedgerLink[] {
  const { journal, trail, line } = structuredClone(captureLinks)
  const links: CaptureLinks = [journal, trail, line]
  change(links)
  return chainLinks(links)
}

/** Checks all links of a ledger and then its end. */
function check(links: readonly LedgerLink[], { notedHead, test }: { notedHead?: ChainHead; test?: boolean } = {}) {
  const state = startCheck(notedHead, { test, funding: undefined })
  const findings = links.flatMap((link) => checkLink(state, link).map((finding) => [link.table, ...finding]))
  return { state, findings }
}

const ROW = { balance: 965n, lineCount: 1n, length: 3n, head: CHAIN_START }

describe('a link', () => {
  it('of a ledger as it was written is right', () => {
    const { state, findings } = check(createLedger(), { test: true })
    expect([findings, endCheck(state, ROW, 3n), endChain(state, undefined)]).toEqual([[], [], []])
  })

  const MIXED = 'is test at a live merchant, or live at a test one'
  const NO_LINE = 'is not the line of the journal before it'
  const OTHER_TRAIL = 'differs from the trail entry before it'

  it.each<[string, (links: CaptureLinks) => void, readonly unknown[]]>([
    [
      'an entry of another amount',
      ([{ entries }]) => Object.assign(entries[0] ?? {}, { amount: -999n }),
      [['journals', 14, 'its entries do not sum to zero']],
    ],
    [
      'an entry in another currency',
      ([{ entries }]) => Object.assign(entries[0] ?? {}, { currency: 'USD' }),
      [['journals', 14, 'its entries do not sum to zero']],
    ],
    [
      'a live entry of a test journal',
      ([{ entries }]) => Object.assign(entries[0] ?? {}, { test: false }),
      [['journals', 14, 'its entries are partly test, partly live']],
    ],
    [
      'a journal of another cause',
      ([{ row }]) => Object.assign(row, { cause_id: 'f'.repeat(24) }),
      [['trail_entries', 7, 'is not the cause of the journal before it']],
    ],
    [
      'a line of another balance after it',
      ([, , { row }]) => Object.assign(row, { balance_after: 966n }),
      [['lines', 10, 'says 966 after it; the lines sum to 965']],
    ],
    [
      'a payout of more than the balance',
      ([{ row: journal }, , { row }]) => {
        Object.assign(journal, { kind: 'payout' })
        Object.assign(row, { kind: 'payout', balance: -1n, balance_after: -1n })
      },
      [['lines', 12, 'pays out more than the balance: -1 after it']],
    ],
    [
      'a line of another journal',
      ([, , { row }]) => Object.assign(row, { journal_id: 'f'.repeat(24) }),
      [['lines', 13, NO_LINE]],
    ],
    ['a line of another kind', ([, , { row }]) => Object.assign(row, { kind: 'refund' }), [['lines', 13, NO_LINE]]],
    [
      'a line of another transaction',
      ([, , { row }]) => Object.assign(row, { transaction_id: 'f'.repeat(24) }),
      [['lines', 7, OTHER_TRAIL]],
    ],
    ['a line of another fee', ([, , { row }]) => Object.assign(row, { fee: 34n }), [['lines', 7, OTHER_TRAIL]]],
    [
      'a line of another time',
      ([, , { row }]) => Object.assign(row, { created: new Date(0) }),
      [['lines', 7, OTHER_TRAIL]],
    ],
    [
      'a settlement without a reference',
      ([{ row }]) => Object.assign(row, { kind: 'schemeSettled', cause_id: row.id }),
      [
        ['journals', 18, 'settles without a reference of the acquirer'],
        ['trail_entries', 7, 'is not the cause of the journal before it'],
        ['lines', 13, NO_LINE],
      ],
    ],
    ['a live line', ([, , { row }]) => Object.assign(row, { test: false }), [['lines', 18, MIXED]]],
  ])('is found: %s', (_name, change, findings) => {
    expect(check(createLedger(change), { test: true }).findings).toEqual(findings)
  })

  it('of a merchant whose row is gone may be test or live', () => {
    expect(check(createLedger()).findings).toEqual([])
    expect(check(createLedger(), { test: false }).findings).toEqual([
      ['journals', 18, MIXED],
      ['lines', 18, MIXED],
    ])
  })
})

describe('a chain', () => {
  const BROKEN = 'does not follow from the rows before it: it was altered, or one was put in or taken out'

  it('is broken once, at the row that was altered', () => {
    const links = createLedger()
    Object.assign(links[0]?.row ?? {}, { created: new Date(0) })
    expect(check(links).findings).toEqual([['journals', 16, BROKEN]])
  })

  it('is broken after a row that was removed', () => {
    expect(check(createLedger().slice(1)).findings[0]).toEqual(['trail_entries', 16, BROKEN])
  })

  it('still has the link that was kept as its last', () => {
    const links = createLedger()
    const notedHead = (length: bigint, head = links[Number(length) - 1]?.row.hash ?? CHAIN_START) => ({ length, head })
    const found = (head: ChainHead) => {
      const { state, findings } = check(links, { notedHead: head })
      return [...findings, ...endChain(state, undefined)]
    }
    expect([0n, 1n, 3n].flatMap((length) => found(notedHead(length)))).toEqual([])
    expect(found(notedHead(2n, CHAIN_START))).toEqual([
      ['trail_entries', 16, 'is not the 2th link that was kept: the chain was rewritten'],
    ])
    expect(found(notedHead(4n))).toEqual([[16, 'the chain of 3 links has lost those up to the 4th']])
  })

  it('ends in the head of its merchant', () => {
    const { state } = check(createLedger())
    const { head } = state.chain
    expect(endChain(state, { length: 3n, head })).toEqual([])
    for (const end of [
      { length: 2n, head },
      { length: 3n, head: CHAIN_START },
    ]) {
      expect(endChain(state, end)).toEqual([[16, 'the chain does not end in the head of the merchant']])
    }
  })
})

it.each([
  [
    'the balance',
    { balance: 964n },
    3n,
    [
      [9, 'the lines sum to 965, the balance is 964'],
      [9, 'the entries sum to 965, the balance is 964'],
    ],
  ],
  ['the number of lines', { lineCount: 2n }, 3n, [[13, '2 lines were counted, 1 are there']]],
  ['the number of entries', {}, 5n, [[14, '2 entries belong to no journal']]],
] as const)('a row of the merchant is found by %s that the links do not have', (_name, change, entries, findings) => {
  expect(endCheck(check(createLedger()).state, { ...ROW, ...change }, entries)).toEqual(findings)
})

it('a line that is missing is found by the entries of its journal', () => {
  const [journal, trail] = createLedger()
  const links = [journal, trail].filter((link) => link !== undefined)
  expect(endCheck(check(links).state, { ...ROW, lineCount: 0n, balance: 0n }, 3n)).toEqual([
    [9, 'the entries sum to 965, the balance is 0'],
    [11, 'fees of 0 are in the lines, of 35 in the entries'],
    [13, '1 journals should have a line, 0 lines are there'],
  ])
})

describe('a move to the euro', () => {
  const OTHER_RATE = 'does not open what was closed at the fixed rate'
  const OTHER_CURRENCY = 'moves the balance or fees in another currency than that of the merchant'
  const id = (place: number) => `${place}${'0'.repeat(23)}`

  /** Returns the journal and the line of one half of a move to the euro. */
  function movePart(kind: 'currencyClosed' | 'currencyOpened', place: number, amounts: readonly [bigint, bigint]) {
    const [balance, after] = amounts
    const { journal, line } = structuredClone(captureLinks)
    const entry = { ...journal.entries[0], journal_id: id(place), currency: kind === 'currencyClosed' ? 'BGN' : 'EUR' }
    const text = { fee: 0n, description: 'Moved', transaction_id: null, amount: null, currency: null }
    return [
      {
        table: 'journals' as const,
        row: { ...journal.row, id: id(place), kind, cause_id: 'BGN' },
        entries: [
          { ...entry, seq: 1, account: 'fx_position', amount: -balance },
          { ...entry, seq: 2, account: 'merchant', amount: balance },
        ],
      },
      {
        table: 'lines' as const,
        row: {
          ...line.row,
          ...text,
          id: id(place + 1),
          journal_id: id(place),
          kind: 'adjustment' as const,
          balance,
          balance_after: after,
        },
      },
    ]
  }

  /** Checks a capture in lev of a merchant that moves to the euro. The test chooses the closed and the opened balance. */
  function checkMoved(closed: bigint, opened: bigint, currency = 'BGN') {
    const { journal, trail, line } = structuredClone(captureLinks)
    for (const entry of journal.entries) Object.assign(entry, { currency })
    const links: LedgerLink[] = [
      ...[journal, trail, line],
      ...movePart('currencyClosed', 4, [closed, 965n + closed]),
      ...movePart('currencyOpened', 6, [opened, 965n + closed + opened]),
    ]
    const move = { formerCurrency: 'BGN', journalId: id(6) }
    const state = startCheck(undefined, { test: true, funding: { currency: 'EUR', move } })
    return chainLinks(links).flatMap((link) => checkLink(state, link).map((finding) => [link.table, ...finding]))
  }

  it('closes the balance in lev at 0, and opens it at the fixed rate', () => {
    expect(checkMoved(-965n, 493n)).toEqual([])
  })

  it.each<[string, readonly [closed: bigint, opened: bigint, currency?: string], readonly unknown[]]>([
    ['another rate', [-965n, 494n], [['lines', 20, OTHER_RATE]]],
    ['a rest in lev', [-964n, 493n], [['lines', 20, 'does not close the balance once, at 0']]],
    ['a capture in euro before it', [-965n, 493n, 'EUR'], [['journals', 20, OTHER_CURRENCY]]],
  ])('is found with %s, though its links were hashed again', (_name, sums, findings) => {
    expect(checkMoved(...sums)).toEqual(findings)
  })

  it('is found without its second half', () => {
    const state = startCheck(undefined, { test: true, funding: { currency: 'BGN', move: undefined } })
    const { journal, trail, line } = structuredClone(captureLinks)
    for (const entry of journal.entries) Object.assign(entry, { currency: 'BGN' })
    const links: LedgerLink[] = [journal, trail, line, ...movePart('currencyClosed', 4, [-965n, 0n])]
    for (const link of chainLinks(links)) checkLink(state, link)
    expect(endCheck(state, { ...ROW, balance: 0n, lineCount: 2n }, 5n)).toEqual([
      [20, 'its balance was closed, but not opened in another currency, or the other way round'],
    ])
  })
})
