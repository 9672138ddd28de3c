import { describe, expect, it } from 'vitest'
import { judgeTransfer, toBankFiles, toPaidAmount, viewBankFiles, writePayoutCsv } from './bank-files.ts'
import type { BankTransfer } from './pain-001.ts'
import { BATCH_PAYOUTS_MAX } from './payout-batch-repository.ts'

const transfer: BankTransfer = {
  payoutId: '0123456789abcdef01234567',
  amount: 100_05n,
  currency: 'EUR',
  merchantId: '89abcdef0123456789abcdef',
  holder: 'Café & Söhne <GmbH>',
  iban: 'DE89370400440532013000',
}
const debtor = { name: 'Trestle', iban: 'DK5000400440116243', bic: undefined }
const other = { ...transfer, payoutId: 'f'.repeat(24), amount: 7n, holder: '=SUM(A1)' }

it('the table has a row for each transfer, in minor units, and no name that a spreadsheet would compute', () => {
  expect(writePayoutCsv([transfer, { ...other, currency: 'JPY' }])).toBe(
    'payout,merchant,name,iban,currency,amount_minor\r\n' +
      '0123456789abcdef01234567,89abcdef0123456789abcdef,Café & Söhne <GmbH>,DE89370400440532013000,EUR,10005\r\n' +
      "ffffffffffffffffffffffff,89abcdef0123456789abcdef,'=SUM(A1),DE89370400440532013000,JPY,7\r\n",
  )
})

it('the table has one line for each transfer, whatever breaks of lines and directions a name has', () => {
  const holder = 'A\r\n=cmd\u2028\u2029\u0085\t\u202eevil\u2066\u200f'
  expect(
    writePayoutCsv([{ ...transfer, holder }])
      .split('\r\n')
      .at(1),
  ).toBe('0123456789abcdef01234567,89abcdef0123456789abcdef,A  =cmd     evil  ,DE89370400440532013000,EUR,10005')
})

it.each([
  ['an amount beyond SEPA', { amount: 1_000_000_000_00n }, 'it is more than 999,999,999.99 euro'],
  ['an IBAN of no country', { iban: 'XX0912345678' }, 'its IBAN is not one of its country'],
  ['less than half a minor unit', { amount: 0n }, 'it is less than half a minor unit'],
  ['no payee', { holder: null }, 'neither bank.holder nor the name of the merchant names the owner of its account'],
  ['a name in Han', { holder: '北京' }, 'the name 北京 of the account holder has letters without a Latin form'],
])('holds back a transfer with %s', (_, changes, reason) => {
  expect(judgeTransfer({ ...transfer, ...changes }, debtor)).toEqual({ reason })
})

it.each([
  ['BGN', 195_583n, 100_000n],
  ['HRK', 100_00n, 13_27n],
])('pays a payout in %s in euro, at the fixed rate', (currency, amount, paid) => {
  expect(toPaidAmount({ ...transfer, currency, amount })).toEqual({ ...transfer, currency: 'EUR', amount: paid })
  expect(toPaidAmount({ ...transfer, currency: 'DKK', amount })).toEqual({ ...transfer, currency: 'DKK', amount })
})

it.each([
  ['the largest amount of SEPA', { amount: 999_999_999_99n }],
  ['a larger amount in another currency', { amount: 1_000_000_000_00n, currency: 'DKK' }],
  ['a larger amount outside SEPA', { amount: 1_000_000_000_00n, iban: 'TR330006100519786457841326' }],
])('pays a transfer with %s', (_, changes) => {
  expect(judgeTransfer({ ...transfer, ...changes }, debtor)).toEqual({ ...transfer, ...changes })
})

it('pays a transfer beyond the largest amount of SEPA from an account outside SEPA, by CSV', () => {
  const large = { ...transfer, amount: 1_000_000_000_00n }
  expect(judgeTransfer(large, { iban: 'TR330006100519786457841326' })).toEqual(large)
})

describe('a transfer over the border of the EEA', () => {
  const reason = 'it crosses the border of the EEA, and PAYMENTS_PAYOUT_ADDRESS does not name the town of the payer'
  const address = { town: 'København', country: 'DK' }
  const [inside, outside, swiss] = ['DE89370400440532013000', 'GB82WEST12345698765432', 'CH9300762011623852957']

  it.each([
    ['leaves', debtor.iban, swiss],
    ['leaves', debtor.iban, outside],
    ['enters', swiss, inside],
    ['stays outside', swiss, outside],
  ])('that %s it is held back without the address of the payer, from %s to %s', (_, from, iban) => {
    expect(judgeTransfer({ ...transfer, iban }, { iban: from })).toEqual({ reason })
    expect(judgeTransfer({ ...transfer, iban }, { iban: from, address })).toEqual({ ...transfer, iban })
  })

  it.each([
    ['within the EEA', { iban: inside }],
    ['outside SEPA', { iban: 'TR330006100519786457841326' }],
    ['in another currency, by the table', { iban: swiss, currency: 'CHF' }],
  ])('is none %s', (_, changes) => {
    expect(judgeTransfer({ ...transfer, ...changes }, debtor)).toEqual({ ...transfer, ...changes })
  })
})

it('pays from outside SEPA by the table alone', () => {
  const form = { version: 'pain.001.001.09', executionDate: '2026-03-02' } as const
  const foreign = { ...debtor, iban: 'TR330006100519786457841326' }
  const files = toBankFiles({ id: 'f'.repeat(24), created: new Date(0), debtor: foreign, form, transfers: [transfer] })
  expect(files.map(({ name }) => name)).toEqual([`payouts-${'f'.repeat(24)}.csv`])
})

// The console reads at most 16 MiB of a response.
it.each(['EUR', 'DKK'])('the files of the largest batch in %s are an answer of less than 16 MiB', (currency) => {
  const holder = '\u{1f600}'.repeat(2_048)
  const longest = { ...transfer, currency, holder, iban: 'X'.repeat(34), amount: 2n ** 53n }
  const transfers = Array.from({ length: BATCH_PAYOUTS_MAX }, () => longest)
  const batch = {
    id: 'f'.repeat(24),
    created: new Date(0),
    debtor: { name: 'x', iban: 'x', bic: undefined },
    form: { version: 'pain.001.001.09', executionDate: '2026-03-02' } as const,
    transfers,
  }
  expect(JSON.stringify(viewBankFiles(toBankFiles(batch))).length).toBeLessThan(16 * 1024 * 1024)
})
