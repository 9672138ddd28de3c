import type { SettingValues } from '@trestle/common/config/load-config.ts'
import { integer, oneOf } from '@trestle/common/config/setting.ts'

const DAYS_MAX = 3_650
const BASIS_POINTS_MAX = 10_000

/** Settings of captures, refunds and voids. @see contract 10.5, 23 */
export const postingSettings = {
  BATCH: oneOf('any', 'merchant').default('any'),
  FX_MAX_AGE_DAYS: integer(0, DAYS_MAX).default(7),
  FX_MARGIN_BPS: integer(0, BASIS_POINTS_MAX).default(0),
} as const

export function toPostingConfig(values: SettingValues<typeof postingSettings>) {
  return {
    /** What one call to the database may hold. */
    batchScope: values.BATCH,
    rateTerms: { marginBasisPoints: values.FX_MARGIN_BPS, ageDaysMax: values.FX_MAX_AGE_DAYS },
  } as const
}
