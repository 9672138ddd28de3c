import { expect, it } from 'vitest'
import { toBankFiles, writePayoutCsv } from './bank-files.ts'
import { viewBankFiles } from './batch-view.ts'
import type { BankTransfer } from './pain-001.ts'
import { BATCH_PAYOUTS_MAX } from './payout-batch-repository.ts'

const transfer: BankTransfer = {
  payoutId: '0123456789abcdef01234567',
  amount: 100_05n,
  currency: 'EUR',
  merchantId: '89abcdef0123456789abcdef',
  merchantName: 'Café & Söhne <GmbH>',
  iban: 'DE89370400440532013000',
}
const other = { ...transfer, payoutId: 'f'.repeat(24), amount: 7n, merchantName: '=SUM(A1)' }

it('the table has a row for each transfer, in minor units, and no name that a spreadsheet would compute', () => {
  expect(writePayoutCsv([transfer, { ...other, currency: 'JPY' }])).toBe(
    'payout,merchant,name,iban,currency,amount_minor\r\n' +
      '0123456789abcdef01234567,89abcdef0123456789abcdef,Café & Söhne <GmbH>,DE89370400440532013000,EUR,10005\r\n' +
      "ffffffffffffffffffffffff,89abcdef0123456789abcdef,'=SUM(A1),DE89370400440532013000,JPY,7\r\n",
  )
})

// The console reads at most 16 MiB of an answer.
it.each(['EUR', 'DKK'])('the files of the largest batch in %s are an answer of less than 16 MiB', (currency) => {
  const merchantName = '\u{1f600}'.repeat(2_048)
  const longest = { ...transfer, currency, merchantName, iban: 'X'.repeat(34), amount: 2n ** 53n }
  const transfers = Array.from({ length: BATCH_PAYOUTS_MAX }, () => longest)
  const batch = {
    id: 'f'.repeat(24),
    created: new Date(0),
    debtor: { name: 'x', iban: 'x', bic: undefined },
    transfers,
  }
  expect(JSON.stringify(viewBankFiles(toBankFiles(batch))).length).toBeLessThan(16 * 1024 * 1024)
})
