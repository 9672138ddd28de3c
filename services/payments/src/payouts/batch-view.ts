import { z } from 'zod'
import type { BankFile, BatchMessage } from './bank-files.ts'

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
