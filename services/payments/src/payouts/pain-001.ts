import { toSepaName } from '../money/latin-text.ts'

/** A transfer to a merchant's account. */
export interface BankTransfer {
  readonly payoutId: string
  /** Minor units of `currency`. */
  readonly amount: bigint
  readonly currency: string
  readonly merchantId: string
  /** The owner of the account. */
  readonly holder: string
  readonly iban: string
}

/** The address of the payer: a town in letters of any European script, and a country such as `DK`. */
export interface PayerAddress {
  readonly town: string
  readonly country: string
}

export interface Debtor {
  readonly name: string
  readonly iban: string
  readonly bic: string | undefined
  readonly address?: PayerAddress | undefined
}

/** The versions of pain.001 that the service can write. Banks accept .09. Many banks no longer accept .03 (EPC132-08). */
export const PAIN_VERSIONS = ['pain.001.001.09', 'pain.001.001.03'] as const

/** The format of the file of a batch: the version, and the day on which the bank pays, such as `2026-03-02`. */
export interface FileForm {
  readonly version: (typeof PAIN_VERSIONS)[number]
  readonly executionDate: string
}

/** A BIC that both versions accept (ISO 9362). */
export const BIC = /^[A-Z]{6}[A-Z2-9][A-NP-Z0-9]([A-Z0-9]{3})?$/

/** The largest transfer of a SEPA file, in minor units: 999,999,999.99 euro (EPC132-08). */
export const TRANSFER_AMOUNT_MAX = 999_999_999_99n

/** A payment order for a pain.001 file: the debtor, and the transfers in euro (ISO 20022). */
export interface TransferMessage {
  /** An id of at most 35 characters, unique for the debtor. */
  readonly messageId: string
  readonly created: Date
  readonly debtor: Debtor
  readonly form: FileForm
  /** At least one transfer. All are in euro. */
  readonly transfers: readonly BankTransfer[]
}

const NAME_LENGTH_MAX = 70
const TOWN_LENGTH_MAX = 35

/** The name of an account holder as a bank file has it. Empty if a letter of the name cannot be written. */
export function toHolderName(name: string): string {
  return toSepaName(name, NAME_LENGTH_MAX)
}

/** The town of a payer as a bank file has it. Empty if a letter of the town cannot be written. */
export function toTownName(town: string): string {
  return toSepaName(town, TOWN_LENGTH_MAX)
}

/**
 * Writes a pain.001 credit transfer. The message has one payment information block, which contains one transfer for each payout.
 * The bank checks the counts and sums as control values.
 * @see https://www.iso20022.org/catalogue-messages/iso-20022-messages-archive (pain.001.001.09 and .03)
 * @see
 * https://www.europeanpaymentscouncil.eu/what-we-do/epc-payment-schemes/sepa-credit-transfer/sepa-credit-transfer-rulebook-and
 * (EPC132-08)
 */
export function writePain001({ messageId, created, debtor, form, transfers }: TransferMessage): string {
  const count = String(transfers.length)
  const sum = inEuro(transfers.reduce((total, { amount }) => total + amount, 0n))
  const { version, executionDate } = form
  // Version .09 allows a date or a date with a time, and has another name for the BIC element.
  const isNewer = version === 'pain.001.001.09'
  const control = [element('NbOfTxs', count), element('CtrlSum', sum)]
  const document = element('CstmrCdtTrfInitn', [
    element('GrpHdr', [
      element('MsgId', messageId),
      element('CreDtTm', `${created.toISOString().slice(0, 19)}Z`),
      ...control,
      element('InitgPty', [element('Nm', toHolderName(debtor.name))]),
    ]),
    element('PmtInf', [
      element('PmtInfId', messageId),
      element('PmtMtd', 'TRF'),
      ...control,
      element('PmtTpInf', [element('SvcLvl', [element('Cd', 'SEPA')])]),
      element('ReqdExctnDt', isNewer ? [element('Dt', executionDate)] : executionDate),
      element('Dbtr', [element('Nm', toHolderName(debtor.name)), ...postalAddress(debtor.address)]),
      element('DbtrAcct', account(debtor.iban)),
      element('DbtrAgt', [element('FinInstnId', [agent(debtor.bic, isNewer ? 'BICFI' : 'BIC')])]),
      element('ChrgBr', 'SLEV'),
      ...transfers.map(toTransferElement),
    ]),
  ])
  return `<?xml version="1.0" encoding="UTF-8"?>\n<Document xmlns="urn:iso:std:iso:20022:tech:xsd:${version}">${document}</Document>\n`
}

function toTransferElement({ payoutId, amount, holder, iban }: BankTransfer): string {
  return element('CdtTrfTxInf', [
    element('PmtId', [element('EndToEndId', payoutId)]),
    element('Amt', [`<InstdAmt Ccy="EUR">${inEuro(amount)}</InstdAmt>`]),
    element('Cdtr', [element('Nm', toHolderName(holder))]),
    element('CdtrAcct', account(iban)),
    element('RmtInf', [element('Ustrd', `Payout ${payoutId}`)]),
  ])
}

/** Both versions have these elements in this order. */
function postalAddress(address: PayerAddress | undefined): readonly string[] {
  if (address === undefined) return []
  return [element('PstlAdr', [element('TwnNm', toTownName(address.town)), element('Ctry', address.country)])]
}

function account(iban: string): readonly string[] {
  return [element('Id', [element('IBAN', iban)])]
}

function agent(bic: string | undefined, tag: 'BICFI' | 'BIC'): string {
  return bic === undefined ? element('Othr', [element('Id', 'NOTPROVIDED')]) : element(tag, bic)
}

function inEuro(amount: bigint): string {
  const digits = amount.toString().padStart(3, '0')
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`
}

/** Returns an XML element with children or with text. Text is escaped. */
function element(name: string, content: string | readonly string[]): string {
  const inner =
    typeof content === 'string' ? content.replace(/[<>&]/g, (sign) => ENTITIES[sign] ?? sign) : content.join('')
  return `<${name}>${inner}</${name}>`
}

const ENTITIES: Readonly<Record<string, string>> = { '<': '&lt;', '>': '&gt;', '&': '&amp;' }
