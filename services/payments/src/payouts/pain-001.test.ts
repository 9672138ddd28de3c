import { expect, it } from 'vitest'
import { type BankTransfer, BIC, writePain001 } from './pain-001.ts'

const transfer: BankTransfer = {
  payoutId: '0123456789abcdef01234567',
  amount: 100_05n,
  currency: 'EUR',
  merchantId: '89abcdef0123456789abcdef',
  holder: 'Café & Söhne ЕООД',
  iban: 'DE89370400440532013000',
}
const other = { ...transfer, payoutId: 'f'.repeat(24), amount: 7n, holder: 'Юрий Θάλασσα' }
const message = {
  messageId: 'TRESTLE-20260301-102030',
  created: new Date('2026-03-01T10:20:30.123Z'),
  debtor: { name: 'Trestle Ærø', iban: 'DK5000400440116243', bic: undefined },
  form: { version: 'pain.001.001.09', executionDate: '2026-03-02' },
  transfers: [transfer, other],
} as const

/** Returns the expected message. `date` is the execution date in the format of the version. */
function expected(version: string, date: string): string {
  const name = 'Trestle Aero'
  const control = '<NbOfTxs>2</NbOfTxs><CtrlSum>100.12</CtrlSum>'
  const transaction = (id: string, amount: string, creditor: string) =>
    `<CdtTrfTxInf><PmtId><EndToEndId>${id}</EndToEndId></PmtId><Amt><InstdAmt Ccy="EUR">${amount}</InstdAmt></Amt>` +
    `<Cdtr><Nm>${creditor}</Nm></Cdtr><CdtrAcct><Id><IBAN>DE89370400440532013000</IBAN></Id></CdtrAcct>` +
    `<RmtInf><Ustrd>Payout ${id}</Ustrd></RmtInf></CdtTrfTxInf>`
  return (
    '<?xml version="1.0" encoding="UTF-8"?>\n' +
    `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:${version}"><CstmrCdtTrfInitn><GrpHdr>` +
    `<MsgId>TRESTLE-20260301-102030</MsgId><CreDtTm>2026-03-01T10:20:30Z</CreDtTm>${control}` +
    `<InitgPty><Nm>${name}</Nm></InitgPty></GrpHdr><PmtInf><PmtInfId>TRESTLE-20260301-102030</PmtInfId>` +
    `<PmtMtd>TRF</PmtMtd>${control}<PmtTpInf><SvcLvl><Cd>SEPA</Cd></SvcLvl></PmtTpInf>` +
    `<ReqdExctnDt>${date}</ReqdExctnDt><Dbtr><Nm>${name}</Nm></Dbtr>` +
    '<DbtrAcct><Id><IBAN>DK5000400440116243</IBAN></Id></DbtrAcct>' +
    '<DbtrAgt><FinInstnId><Othr><Id>NOTPROVIDED</Id></Othr></FinInstnId></DbtrAgt><ChrgBr>SLEV</ChrgBr>' +
    transaction('0123456789abcdef01234567', '100.05', 'Cafe + Sohne EOOD') +
    transaction('f'.repeat(24), '0.07', 'Yuriy Thalassa') +
    '</PmtInf></CstmrCdtTrfInitn></Document>\n'
  )
}

it('a message has control values and one transfer for each payout, in characters that banks accept', () => {
  expect(writePain001(message)).toBe(expected('pain.001.001.09', '<Dt>2026-03-02</Dt>'))
  const withBic = writePain001({ ...message, debtor: { ...message.debtor, bic: 'DABADKKK' } })
  expect(withBic).toContain('<FinInstnId><BICFI>DABADKKK</BICFI></FinInstnId>')
})

it('a message of the older version has its date and its BIC as that version has them', () => {
  const older = { ...message, form: { ...message.form, version: 'pain.001.001.03' } } as const
  expect(writePain001(older)).toBe(expected('pain.001.001.03', '2026-03-02'))
  const withBic = writePain001({ ...older, debtor: { ...message.debtor, bic: 'DABADKKK' } })
  expect(withBic).toContain('<FinInstnId><BIC>DABADKKK</BIC></FinInstnId>')
})

it.each(['pain.001.001.09', 'pain.001.001.03'] as const)('a message of %s has the town of the payer', (version) => {
  const address = { town: 'København', country: 'DK' }
  const form = { ...message.form, version }
  expect(writePain001({ ...message, form, debtor: { ...message.debtor, address } })).toContain(
    '<Dbtr><Nm>Trestle Aero</Nm><PstlAdr><TwnNm>Kobenhavn</TwnNm><Ctry>DK</Ctry></PstlAdr></Dbtr>',
  )
})

it.each([
  ['DABADKKK', true],
  ['NDEADKKKXXX', true],
  ['DEUTDE1X', false],
  ['DEUTDEFO', false],
  ['DEUTDEFFX', false],
])('takes %s as a BIC, or not, as both schemas do: %s', (bic, expectedVerdict) => {
  expect(BIC.test(bic)).toBe(expectedVerdict)
})
