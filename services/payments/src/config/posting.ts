import type { SettingValues } from '@trestle/common/config/load-config.ts'
import { integer, oneOf } from '@trestle/common/config/setting.ts'
import { group } from '@trestle/common/config/setting-description.ts'

const DAYS_MAX = 3_650
const BASIS_POINTS_MAX = 10_000

export const postingSettings = group('Captures, refunds and exchange rates', {
  BATCH: oneOf('any', 'merchant')
    .optional()
    .describe(
      'What one call to the database for captures, refunds and voids may hold: those of any merchants (`any`), or of one (`merchant`). By default `any`, and `merchant` where the database is distributed.',
    ),
  FX_MAX_AGE_DAYS: integer(0, DAYS_MAX, 'days')
    .prefault('7')
    .describe(
      'Largest age of an exchange rate. With an older one, charges and captures of live merchants are refused.',
    ),
  FX_MARGIN_BPS: integer(0, BASIS_POINTS_MAX, 'basis points')
    .prefault('0')
    .describe('Share that is taken off an amount that is exchanged.'),
})

export interface PostingConfig {
  /** Whether one call of the database may contain operations of several merchants. Undefined: as the database permits. */
  readonly batchScope: 'any' | 'merchant' | undefined
  readonly rateTerms: {
    readonly marginBasisPoints: number
    readonly ageDaysMax: number
  }
}

/** Returns the settings of captures, refunds and voids. The margin is in basis points, the age of rates in days. */
export function toPostingConfig(values: SettingValues<typeof postingSettings>): PostingConfig {
  return {
    batchScope: values.BATCH,
    rateTerms: { marginBasisPoints: values.FX_MARGIN_BPS, ageDaysMax: values.FX_MAX_AGE_DAYS },
  } as const
}
