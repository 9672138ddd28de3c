import { createHash } from 'node:crypto'
import { open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { writeCsv } from '../ledger/csv.ts'
import { type BankTransfer, type Debtor, writePain001 } from './pain-001.ts'

/** All that the files of a batch say. The same batch always makes the same files. */
export interface BatchMessage {
  /** The id of the batch. */
  readonly id: string
  readonly created: Date
  readonly debtor: Debtor
  readonly transfers: readonly BankTransfer[]
}

/** A file for the bank. `name` has no folder. */
export interface BankFile {
  readonly name: string
  readonly text: string
}

/**
 * The files of a batch: payouts in euro as pain.001 under the id of the batch, the others as CSV. The same batch makes
 * the same bytes.
 */
export function toBankFiles({ id, created, debtor, transfers }: BatchMessage): readonly BankFile[] {
  const messageId = `payouts-${id}`
  const euro = transfers.filter(({ currency }) => currency === 'EUR')
  const others = transfers.filter(({ currency }) => currency !== 'EUR')
  const message = { messageId, created, debtor, transfers: euro }
  return [
    ...(euro.length > 0 ? [{ name: `${messageId}.xml`, text: writePain001(message) }] : []),
    ...(others.length > 0 ? [{ name: `${messageId}.csv`, text: writePayoutCsv(others) }] : []),
  ]
}

/** SHA-256 of all that the files of a batch say, whatever their format. */
export function digestBatch({ id, created, debtor, transfers }: BatchMessage): Buffer {
  const rows = transfers.map(({ payoutId, merchantId, merchantName, iban, amount, currency }) => [
    payoutId,
    merchantId,
    merchantName,
    iban,
    String(amount),
    currency,
  ])
  const { name, iban, bic = null } = debtor
  return createHash('sha256')
    .update(JSON.stringify([id, created, name, iban, bic, rows]))
    .digest()
}

/** Files that are whole on the disk, under names that no bank program takes. */
export interface PreparedFiles {
  /** Renames the files to their final names. */
  publish(): Promise<void>
  discard(): Promise<void>
}

/**
 * Writes files into a folder, readable by their owner only, because they name accounts.
 * @throws Error when a file cannot be written in full
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

/** Makes the new names survive a power cut. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Characters of a merchant’s name. Where a merchant has none its address stands for it, which may be longer. */
const NAME_LENGTH_MAX = 255

const HEADER = ['payout', 'merchant', 'name', 'iban', 'currency', 'amount_minor']

/** The CSV of transfers that SEPA does not carry. */
export function writePayoutCsv(transfers: readonly BankTransfer[]): string {
  return writeCsv([
    HEADER,
    ...transfers.map(({ payoutId, merchantId, merchantName, iban, currency, amount }) => [
      payoutId,
      merchantId,
      { text: [...merchantName].slice(0, NAME_LENGTH_MAX).join('') },
      iban,
      currency,
      amount.toString(),
    ]),
  ])
}
