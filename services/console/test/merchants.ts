import { z } from 'zod'
import type { RunningService } from './services.ts'

const Made = z.looseObject({ id: z.string(), app: z.looseObject({ id: z.string(), key: z.string() }) })

/** A merchant with an app of its own. */
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
