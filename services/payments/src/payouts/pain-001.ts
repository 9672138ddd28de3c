/** A transfer to a merchant's account. */
export interface BankTransfer {
  readonly payoutId: string
  /** Minor units of `currency`. */
  readonly amount: bigint
  readonly currency: string
  readonly merchantId: string
  readonly merchantName: string
  readonly iban: string
}

/** The account that is paid from. */
export interface Debtor {
  readonly name: string
  readonly iban: string
  readonly bic: string | undefined
}

/** A payment order as a file of pain.001 states it: the debtor, and the transfers in euro (ISO 20022). */
export interface TransferMessage {
  /** At most 35 characters, unique for the debtor. */
  readonly messageId: string
  readonly created: Date
  readonly debtor: Debtor
  /** In euro. At least one. */
  readonly transfers: readonly BankTransfer[]
}

const NAME_LENGTH_MAX = 70

/**
 * Writes a credit transfer message: one message, one payment information, one transfer for each payout. Counts and sums
 * are control values.
 * @see https://www.iso20022.org/catalogue-messages/iso-20022-messages-archive (pain.001.001.03)
 * @see
 * https://www.europeanpaymentscouncil.eu/what-we-do/epc-payment-schemes/sepa-credit-transfer/sepa-credit-transfer-rulebook-and
 * (EPC132-08)
 */
export function writePain001({ messageId, created, debtor, transfers }: TransferMessage): string {
  const count = String(transfers.length)
  const sum = inEuro(transfers.reduce((total, { amount }) => total + amount, 0n))
  const instant = created.toISOString().slice(0, 19)
  const control = [element('NbOfTxs', count), element('CtrlSum', sum)]
  const document = element('CstmrCdtTrfInitn', [
    element('GrpHdr', [
      element('MsgId', messageId),
      element('CreDtTm', instant),
      ...control,
      element('InitgPty', [element('Nm', toSepaText(debtor.name, NAME_LENGTH_MAX))]),
    ]),
    element('PmtInf', [
      element('PmtInfId', messageId),
      element('PmtMtd', 'TRF'),
      ...control,
      element('PmtTpInf', [element('SvcLvl', [element('Cd', 'SEPA')])]),
      element('ReqdExctnDt', instant.slice(0, 10)),
      element('Dbtr', [element('Nm', toSepaText(debtor.name, NAME_LENGTH_MAX))]),
      element('DbtrAcct', account(debtor.iban)),
      element('DbtrAgt', [element('FinInstnId', [agent(debtor.bic)])]),
      element('ChrgBr', 'SLEV'),
      ...transfers.map(toTransferElement),
    ]),
  ])
  return `<?xml version="1.0" encoding="UTF-8"?>\n<Document xmlns="${NAMESPACE}">${document}</Document>\n`
}

const NAMESPACE = 'urn:iso:std:iso:20022:tech:xsd:pain.001.001.03'

function toTransferElement({ payoutId, amount, merchantName, iban }: BankTransfer): string {
  return element('CdtTrfTxInf', [
    element('PmtId', [element('EndToEndId', payoutId)]),
    element('Amt', [`<InstdAmt Ccy="EUR">${inEuro(amount)}</InstdAmt>`]),
    element('Cdtr', [element('Nm', toSepaText(merchantName, NAME_LENGTH_MAX))]),
    element('CdtrAcct', account(iban)),
    element('RmtInf', [element('Ustrd', `Payout ${payoutId}`)]),
  ])
}

function account(iban: string): readonly string[] {
  return [element('Id', [element('IBAN', iban)])]
}

function agent(bic: string | undefined): string {
  return bic === undefined ? element('Othr', [element('Id', 'NOTPROVIDED')]) : element('BIC', bic)
}

function inEuro(amount: bigint): string {
  const digits = amount.toString().padStart(3, '0')
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`
}

/** An XML element around its children, or around text, which is escaped. */
function element(name: string, content: string | readonly string[]): string {
  const inner =
    typeof content === 'string' ? content.replace(/[<>&]/g, (sign) => ENTITIES[sign] ?? sign) : content.join('')
  return `<${name}>${inner}</${name}>`
}

const ENTITIES: Readonly<Record<string, string>> = { '<': '&lt;', '>': '&gt;', '&': '&amp;' }

/** Characters outside the basic Latin set of the SEPA rulebooks. */
const ALLOWED = /[^A-Za-z0-9/\-?:().,'+ ]/g
/** Letters that Unicode does not split into a plain letter and a mark. */
const LETTERS: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  ø: 'o',

  ð: 'd',
  þ: 'th',
  ł: 'l',
  đ: 'd',
  œ: 'oe',
}

/**
 * The text as a bank file may contain it: letters without marks, `&` as `+`, other forbidden characters as spaces.
 * Never empty, never longer than `lengthMax`.
 */
export function toSepaText(text: string, lengthMax: number): string {
  const plain = [...text.normalize('NFKD')].map(toLatin).join('').replace(/\p{M}/gu, '').replaceAll('&', '+')
  const allowed = plain.replace(ALLOWED, ' ').replace(/ +/g, ' ').trim().slice(0, lengthMax).trim()
  return allowed === '' ? '-' : allowed
}

function toLatin(letter: string): string {
  const latin = LETTERS[letter.toLowerCase()]
  if (latin === undefined) return letter
  return letter === letter.toLowerCase() ? latin : `${latin.charAt(0).toUpperCase()}${latin.slice(1)}`
}
