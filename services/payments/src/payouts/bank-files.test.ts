import { expect, it } from 'vitest'
import { writePayoutCsv } from './bank-files.ts'
import type { BankTransfer } from './pain-001.ts'

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
