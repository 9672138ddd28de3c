import { describe, expect, it } from 'vitest'
import { checkFigures, type TransactionFigures } from './transaction-figures.ts'

/** A transaction of 1,000: 700 captured, 200 voided. Of the 700, 300 are refunded, 50 lost and 30 in dispute. */
const sound: TransactionFigures = {
  id: 't',
  successful: true,
  amount: 1_000n,
  pending: 100n,
  captured: 700n,
  refunded: 300n,
  voided: 200n,
  disputed: 80n,
  lost: 50n,
  trail_length: 7,
  trail_entries: 7n,
  trail_last: 7,
  trail_captured: 700n,
  trail_refunded: 300n,
  trail_voided: 200n,
  trail_won: 20n,
  trail_lost: 50n,
  trail_excess: 5n,
  trail_balance: 350n,
  gross_captured: 630n,
  gross_reversed: 315n,
  moved_trail: 0n,
  moved_lines: 0n,
  line_balance: 350n,
  disputes_open: 30n,
  disputes_won: 20n,
  disputes_lost: 50n,
  disputes_excess: 5n,
}
/** The whole captured amount is refunded, at its worth. */
const refunded: TransactionFigures = {
  ...sound,
  refunded: 650n,
  trail_refunded: 650n,
  disputed: 50n,
  disputes_open: 0n,
  gross_reversed: 630n,
}
const declined: TransactionFigures = {
  ...sound,
  successful: false,
  pending: 0n,
  captured: 0n,
  refunded: 0n,
  voided: 0n,
  disputed: 0n,
  lost: 0n,
  trail_length: 0,
  trail_entries: 0n,
  trail_last: 0,
  trail_balance: 0n,
  line_balance: 0n,
  trail_captured: 0n,
  trail_refunded: 0n,
  trail_voided: 0n,
  trail_won: 0n,
  trail_lost: 0n,
  gross_captured: 0n,
  gross_reversed: 0n,
  disputes_open: 0n,
  disputes_won: 0n,
  disputes_lost: 0n,
}

describe('checkFigures', () => {
  it.each([
    ['captured in part, refunded, voided and disputed', sound],
    ['captured as a whole', { ...sound, amount: 700n, pending: 0n, voided: 0n, trail_voided: 0n }],
    ['reversed as a whole', refunded],
    ['declined', declined],
  ])('finds nothing in a sound transaction that is %s', (_case, figures) => {
    expect(checkFigures(figures)).toEqual([])
  })

  const SUM = [1, 'its amounts do not sum to its amount']
  const BOUNDS = [2, 'an amount is negative or too large']
  const REVERSALS = [2, 'more is refunded and disputed than was captured']
  const DISPUTED = [4, 'the disputed amount is not that of its disputes']
  const LOST = [4, 'lost disputes differ from its trail']
  const WON = [4, 'disputes that were won differ from its trail']
  const GAPS = [5, 'its trail has gaps']
  const BALANCE = [6, 'its trail and its lines moved the balance differently']
  const WORTH = [8, 'all of it is reversed, but not at what it brought']

  it.each([
    ['parts that are less than its amount', { ...sound, pending: 99n }, [SUM]],
    ['parts that are more than its amount', { ...sound, pending: 101n }, [SUM]],
    ['a part of what was declined', { ...declined, pending: 1n }, [SUM]],
    ['less than nothing pending', { ...sound, amount: 899n, pending: -1n }, [BOUNDS]],
    ['less than nothing refunded', { ...sound, refunded: -1n, trail_refunded: -1n }, [BOUNDS]],
    ['less than nothing voided', { ...sound, amount: 799n, voided: -1n, trail_voided: -1n }, [BOUNDS]],
    ['less than nothing disputed', { ...sound, disputed: -1n, disputes_open: -51n }, [BOUNDS]],
    [
      'less than nothing lost',
      { ...sound, lost: -1n, trail_lost: -1n, disputes_lost: -1n, disputes_open: 81n },
      [BOUNDS],
    ],
    [
      'more captured than its amount',
      { ...sound, amount: 699n, pending: 0n, voided: 0n, trail_voided: 0n },
      [SUM, BOUNDS],
    ],
    ['more refunded and disputed than was captured', { ...sound, disputed: 401n, disputes_open: 351n }, [REVERSALS]],
    ['another capture in its trail', { ...sound, trail_captured: 701n }, [[3, 'captured 700, in its trail 701']]],
    ['another refund in its trail', { ...sound, trail_refunded: 299n }, [[3, 'refunded 300, in its trail 299']]],
    ['another void in its trail', { ...sound, trail_voided: 0n }, [[3, 'voided 200, in its trail 0']]],
    ['an open dispute that it does not count', { ...sound, disputes_open: 31n }, [DISPUTED]],
    ['a lost dispute that it does not count', { ...sound, lost: 49n }, [LOST]],
    ['a lost dispute without an entry', { ...sound, trail_lost: 0n }, [LOST]],
    ['an entry without a lost dispute', { ...sound, disputes_lost: 49n, disputes_open: 31n }, [LOST]],
    ['a won dispute without an entry', { ...sound, trail_won: 0n }, [WON]],
    ['an entry too few', { ...sound, trail_entries: 6n }, [GAPS]],
    ['an entry too late', { ...sound, trail_last: 8 }, [GAPS]],
    ['a line of another balance', { ...sound, line_balance: 351n }, [BALANCE]],
    ['refunds of all at too little', { ...refunded, gross_reversed: 629n }, [WORTH]],
    ['refunds of all at too much', { ...refunded, gross_reversed: 631n }, [WORTH]],
  ])('finds %s', (_case, figures, findings) => {
    expect(checkFigures(figures)).toEqual(findings)
  })
})
