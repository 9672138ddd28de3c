import { z } from 'zod'
import type { RunningService } from './services.ts'

const Made = z.looseObject({ id: z.string(), app: z.looseObject({ id: z.string(), key: z.string() }) })

export interface Created {
  readonly merchantId: string
  readonly appId: string
  readonly appKey: string
}

/** Makes a test merchant in EUR. */
export async function createMerchant(payments: RunningService, name: string): Promise<Created> {
  const words = ['--name', name, '--test', '--currency', 'EUR', '--email', 'shop@example.com']
  const more = ['--website', 'https://shop.example', '--descriptor', 'SHOP', '--country', 'DK']
  const printed = await payments.command('merchants', 'create', ...words, ...more, '--json')
  const { id, app } = Made.parse(JSON.parse(printed))
  return { merchantId: id, appId: app.id, appKey: app.key }
}

/** Makes a live merchant with a balance that may be paid out at once. Returns its id. */
export async function createPayableMerchant(payments: RunningService, currency: string): Promise<string> {
  const words = ['--name', `Shop of ${currency}`, '--currency', currency, '--email', 'shop@example.com']
  const more = ['--website', 'https://shop.example', '--descriptor', 'SHOP', '--country', 'DK']
  const bank = ['--iban', 'DK5000400440116243']
  const { id } = Made.parse(
    JSON.parse(await payments.command('merchants', 'create', ...words, ...more, ...bank, '--json')),
  )
  await payments.command('adjust', id, '+100000', 'Opening balance')
  // A capture that is younger than two days is not paid out.
  await payments.query('UPDATE payments.merchant_balances SET clock_offset = $1 WHERE merchant_id = $2', [
    3 * 86_400,
    id,
  ])
  return id
}
