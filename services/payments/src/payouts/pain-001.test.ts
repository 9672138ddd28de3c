import { expect, it } from 'vitest'
import { type BankTransfer, toSepaText, writePain001 } from './pain-001.ts'

const transfer: BankTransfer = {
  payoutId: '0123456789abcdef01234567',
  amount: 100_05n,
  currency: 'EUR',
  merchantId: '89abcdef0123456789abcdef',
  merchantName: 'Café & Söhne <GmbH>',
  iban: 'DE89370400440532013000',
}
const other = { ...transfer, payoutId: 'f'.repeat(24), amount: 7n, merchantName: '=SUM(A1)' }
const message = {
  messageId: 'TRESTLE-20260301-102030',
  created: new Date('2026-03-01T10:20:30.123Z'),
  debtor: { name: 'Trestle Ærø', iban: 'DK5000400440116243', bic: undefined },
  transfers: [transfer, other],
}

it('a message has control values and one transfer for each payout, in characters that banks accept', () => {
  const name = 'Trestle Aero'
  const control = '<NbOfTxs>2</NbOfTxs><CtrlSum>100.12</CtrlSum>'
  const transaction = (id: string, amount: string, creditor: string) =>
    `<CdtTrfTxInf><PmtId><EndToEndId>${id}</EndToEndId></PmtId><Amt><InstdAmt Ccy="EUR">${amount}</InstdAmt></Amt>` +
    `<Cdtr><Nm>${creditor}</Nm></Cdtr><CdtrAcct><Id><IBAN>DE89370400440532013000</IBAN></Id></CdtrAcct>` +
    `<RmtInf><Ustrd>Payout ${id}</Ustrd></RmtInf></CdtTrfTxInf>`
  expect(writePain001(message)).toBe(
    '<?xml version="1.0" encoding="UTF-8"?>\n' +
      '<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.001.001.03"><CstmrCdtTrfInitn><GrpHdr>' +
      `<MsgId>TRESTLE-20260301-102030</MsgId><CreDtTm>2026-03-01T10:20:30</CreDtTm>${control}` +
      `<InitgPty><Nm>${name}</Nm></InitgPty></GrpHdr><PmtInf><PmtInfId>TRESTLE-20260301-102030</PmtInfId>` +
      `<PmtMtd>TRF</PmtMtd>${control}<PmtTpInf><SvcLvl><Cd>SEPA</Cd></SvcLvl></PmtTpInf>` +
      `<ReqdExctnDt>2026-03-01</ReqdExctnDt><Dbtr><Nm>${name}</Nm></Dbtr>` +
      '<DbtrAcct><Id><IBAN>DK5000400440116243</IBAN></Id></DbtrAcct>' +
      '<DbtrAgt><FinInstnId><Othr><Id>NOTPROVIDED</Id></Othr></FinInstnId></DbtrAgt><ChrgBr>SLEV</ChrgBr>' +
      transaction('0123456789abcdef01234567', '100.05', 'Cafe + Sohne GmbH') +
      transaction('f'.repeat(24), '0.07', 'SUM(A1)') +
      '</PmtInf></CstmrCdtTrfInitn></Document>\n',
  )
  const withBic = writePain001({ ...message, debtor: { ...message.debtor, bic: 'DABADKKK' } })
  expect(withBic).toContain('<FinInstnId><BIC>DABADKKK</BIC></FinInstnId>')
})

it.each([
  ['Ærøskøbing Łódź straße', 'Aeroskobing Lodz strasse'],
  ['日本', '-'],
  ['', '-'],
  ['a'.repeat(71), 'a'.repeat(70)],
  ['x <b>\u0000', 'x b'],
])('a name of %j is written as %j', (text, allowed) => {
  expect(toSepaText(text, 70)).toBe(allowed)
})
