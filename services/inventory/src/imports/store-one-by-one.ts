import { isRefusedValue } from '@trestle/database/unavailable.ts'
import type { ReadProduct } from './import-record.ts'

type StoreBatch<Verdict> = (products: readonly ReadProduct[]) => Promise<readonly Verdict[]>

/** When the database refuses the values of a batch, one product of it is to blame: the others are stored without it. */
export function storeOneByOneWhenRefused<Verdict>(store: StoreBatch<Verdict>): StoreBatch<Verdict | 'refused'> {
  return async (products) => {
    try {
      return await store(products)
    } catch (error) {
      if (!isRefusedValue(error)) throw error
    }
    const verdicts: (Verdict | 'refused')[] = []
    for (const product of products) {
      const alone = store([product]).catch((error: unknown) => {
        if (!isRefusedValue(error)) throw error
        return ['refused'] as const
      })
      verdicts.push(...(await alone))
    }
    return verdicts
  }
}
