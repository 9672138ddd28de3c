import { createHash } from 'node:crypto'
import { open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { writeCsv } from '../ledger/csv.ts'
import { isEeaIban, isPayableIban, isSepaIban } from '../merchants/iban.ts'
import { toEuro } from '../money/currencies.ts'
import {
  type BankTransfer,
  type Debtor,
  type FileForm,
  TRANSFER_AMOUNT_MAX,
  toHolderName,
  writePain001,
} from './pain-001.ts'

/** The content of the files of a batch. The same batch always makes the same files. */
export interface BatchMessage {
  readonly id: string
  readonly created: Date
  readonly debtor: Debtor
  readonly form: FileForm
  readonly transfers: readonly BankTransfer[]
}

/** A file for the bank. `name` is a file name without a folder. */
interface BankFile {
  readonly name: string
  readonly text: string
}

/**
 * Returns the files of a batch. Payouts in euro between SEPA accounts go into a pain.001 file with the id of the batch. All
 * others go into a CSV file. The same batch always makes the same bytes.
 */
export function toBankFiles({ id, created, debtor, form, transfers }: BatchMessage): readonly BankFile[] {
  const messageId = `payouts-${id}`
  const euro = transfers.filter((transfer) => isSepaTransfer(transfer, debtor))
  const others = transfers.filter((transfer) => !isSepaTransfer(transfer, debtor))
  const message = { messageId, created, debtor, form, transfers: euro }
  return [
    ...(euro.length > 0 ? [{ name: `${messageId}.xml`, text: writePain001(message) }] : []),
    ...(others.length > 0 ? [{ name: `${messageId}.csv`, text: writePayoutCsv(others) }] : []),
  ]
}

/** A transfer in which the name of the account holder may be missing. */
type NamelessTransfer = Omit<BankTransfer, 'holder'> & { readonly holder: string | null }

/**
 * Returns the amount that the bank pays for a payout. No bank pays in a currency that the euro has replaced. Such a payout is
 * paid in euro, at the rate fixed by law (reference: Bank files).
 */
export function toPaidAmount<Paid extends Pick<BankTransfer, 'amount' | 'currency'>>(payout: Paid): Paid {
  const amount = toEuro(payout.amount, payout.currency)
  return amount === undefined ? payout : { ...payout, amount, currency: 'EUR' }
}

/** The transfer, or the reason why the bank would refuse it, so that no file may have it (reference: Bank files). */
export function judgeTransfer(
  transfer: NamelessTransfer,
  debtor: Pick<Debtor, 'iban' | 'address'>,
): BankTransfer | { readonly reason: string } {
  const { holder, iban, amount } = transfer
  if (amount === 0n) return { reason: 'it is less than half a minor unit' }
  if (!isPayableIban(iban)) return { reason: 'its IBAN is not one of its country' }
  if (holder === null) {
    return { reason: 'neither bank.holder nor the name of the merchant names the owner of its account' }
  }
  if (toHolderName(holder) === '') {
    return { reason: `the name ${holder} of the account holder has letters without a Latin form` }
  }
  if (amount > TRANSFER_AMOUNT_MAX && isSepaTransfer(transfer, debtor)) {
    return { reason: 'it is more than 999,999,999.99 euro' }
  }
  if (needsAddress(transfer, debtor) && debtor.address === undefined) {
    return {
      reason: 'it crosses the border of the EEA, and PAYMENTS_PAYOUT_ADDRESS does not name the town of the payer',
    }
  }
  return { ...transfer, holder }
}

/** The payer's address must be sent with a SEPA transfer that leaves or enters the EEA (EPC125-05). */
function needsAddress(transfer: NamelessTransfer, debtor: Pick<Debtor, 'iban'>): boolean {
  if (!isSepaTransfer(transfer, debtor)) return false
  return !isEeaIban(transfer.iban) || !isEeaIban(debtor.iban)
}

/** Returns whether a payout is in euro and both accounts are in SEPA. */
function isSepaTransfer(
  { currency, iban }: Pick<BankTransfer, 'currency' | 'iban'>,
  debtor: Pick<Debtor, 'iban'>,
): boolean {
  return currency === 'EUR' && isSepaIban(iban) && isSepaIban(debtor.iban)
}

/** Returns the SHA-256 of the content of a batch, independent of the file format. */
export function digestBatch({ id, created, debtor, form, transfers }: BatchMessage): Buffer {
  const rows = transfers.map(({ payoutId, merchantId, holder, iban, amount, currency }) => [
    payoutId,
    merchantId,
    holder,
    iban,
    String(amount),
    currency,
  ])
  const { name, iban, bic = null, address } = debtor
  const place = address ? [address.town, address.country] : null
  return createHash('sha256')
    .update(JSON.stringify([id, created, name, iban, bic, place, form.version, form.executionDate, rows]))
    .digest()
}

/** Files that are completely written to disk, under temporary names that no bank program picks up. */
export interface PreparedFiles {
  /** Renames the files to their final names. */
  publish(): Promise<void>
  discard(): Promise<void>
}

/**
 * Writes files into a folder. Only their owner can read them, because they contain account numbers.
 * @throws Error if a file cannot be written completely
 */
export async function prepareFiles(folder: string, files: readonly BankFile[]): Promise<PreparedFiles> {
  const part = ({ name }: BankFile) => join(folder, `.${name}.part`)
  const discard = async () => {
    for (const file of files) await rm(part(file), { force: true })
  }
  try {
    for (const file of files) await writeDurably(part(file), file.text)
  } catch (error) {
    await discard()
    throw error
  }
  return {
    discard,
    publish: async () => {
      for (const file of files) await rename(part(file), join(folder, file.name))
      await syncFolder(folder)
    },
  }
}

async function writeDurably(path: string, text: string): Promise<void> {
  const file = await open(path, 'w', 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Syncs the folder to disk, so that the new file names survive a power cut. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** The longest name of an account holder, in characters. */
const NAME_LENGTH_MAX = 255

/** Characters to replace in names, which members of merchants choose: line breaks, controls, and text direction. */
const NOT_ON_A_LINE = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu

const HEADER = ['payout', 'merchant', 'name', 'iban', 'currency', 'amount_minor']

/** Writes the CSV of transfers that SEPA does not carry. */
export function writePayoutCsv(transfers: readonly BankTransfer[]): string {
  return writeCsv([
    HEADER,
    ...transfers.map(({ payoutId, merchantId, holder, iban, currency, amount }) => [
      payoutId,
      merchantId,
      { text: [...holder.replaceAll(NOT_ON_A_LINE, ' ')].slice(0, NAME_LENGTH_MAX).join('') },
      iban,
      currency,
      amount.toString(),
    ]),
  ])
}

/** The JSON of a batch of payouts. Amounts are in minor units. */
export const BatchView = z.object({
  id: z.string(),
  created: z.iso.datetime(),
  payouts: z.int().describe('How many'),
  currencies: z.array(z.object({ currency: z.string(), amount: z.int() })),
})

export const BankFilesView = z.array(
  z.object({ name: z.string(), type: z.string(), content: z.string().describe('The bytes of the file as base64') }),
)

export const HeldPayoutsView = z
  .array(
    z.object({
      payoutId: z.string(),
      merchantId: z.string(),
      merchantName: z.string().nullable(),
      reason: z.string(),
    }),
  )
  .describe('Payouts that no bank would pay, and why. They wait until an operator has mended their merchant')

export function viewBatch({ id, created, transfers }: BatchMessage): z.infer<typeof BatchView> {
  const byCurrency = Map.groupBy(transfers, ({ currency }) => currency)
  const currencies = [...byCurrency].map(([currency, rows]) => ({
    currency,
    amount: Number(rows.reduce((sum, { amount }) => sum + amount, 0n)),
  }))
  return { id, created: created.toISOString(), payouts: transfers.length, currencies }
}

export function viewBankFiles(files: readonly BankFile[]): z.infer<typeof BankFilesView> {
  return files.map(({ name, text }) => ({
    name,
    type: name.endsWith('.xml') ? 'application/xml' : 'text/csv',
    content: Buffer.from(text).toString('base64'),
  }))
}
