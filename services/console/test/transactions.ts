import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createFolder } from '@trestle/testing/temporary-folder.ts'
import type { RunningService } from './services.ts'

export const SHOP_ID = '6901f3a0000000000a1b2c3d'

export const idOf = (number: number): string => `6901f3a${number.toString(16).padStart(9, '0')}0a1b2c3d`.slice(0, 24)

const APP_ID = '6901f3a000000000c0ffee00'

/**
 * Makes a merchant with transactions, by the command that fills a new installation.
 * @param amounts in cents, or in the minor units of another currency
 * @param operations of each transaction
 */
export async function seedTransactions(
  payments: RunningService,
  amounts: readonly (number | { readonly currency: string; readonly amount: number })[],
  ...operations: readonly Readonly<Record<'capture', number>>[]
): Promise<void> {
  const file = join(createFolder(), 'seed.json')
  const content = {
    apps: [{ id: APP_ID, name: 'Shop app', key: 'a0b1c2d3-e4f5-4a6b-8c7d-9e0f1a2b3c4d' }],
    merchants: [
      {
        id: SHOP_ID,
        key: 'b0b1c2d3-e4f5-4a6b-8c7d-9e0f1a2b3c4d',
        name: 'Nordhavn <b>Coffee</b>',
        currency: 'EUR',
        test: true,
        email: 'shop@example.com',
        website: 'https://nordhavn.example',
        descriptor: 'NORDHAVN',
        company: { country: 'DK' },
        apps: [APP_ID],
      },
    ],
    transactions: amounts.map((given, index) => ({
      id: idOf(index + 1),
      merchantId: SHOP_ID,
      ...(typeof given === 'number' ? { currency: 'EUR', amount: given } : given),
      card: { number: '4100000000000000', expiry: { month: 12, year: 2066 } },
      operations,
    })),
  }
  writeFileSync(file, JSON.stringify(content))
  await payments.command('seed', file)
}
