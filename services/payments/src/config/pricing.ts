import type { SettingValues } from '@trestle/common/config/load-config.ts'
import { integer, parsed } from '@trestle/common/config/setting.ts'
import { group } from '@trestle/common/config/setting-description.ts'
import type { Pricing } from '../merchants/pricing.ts'
import { readMoney } from '../money/minor-units.ts'

const BASIS_POINTS_MAX = 10_000

/** The fees of a new merchant, until the operator changes them. */
export const pricingSettings = group('Fees of new merchants', {
  FEE_RATE_BPS: integer(0, BASIS_POINTS_MAX, 'basis points').prefault('135').describe('Share of each capture.'),
  FEE_FLAT: money().prefault('EUR:25').describe('Fixed part of the fee of each capture.'),
  FEE_DISPUTE: money().prefault('EUR:2500').describe('Fee of a dispute.'),
})

export interface PricingConfig {
  readonly pricing: Pricing
}

/** Returns the fees of new merchants. `rate` is in basis points, and the other fees are amounts of money. */
export function toPricingConfig(values: SettingValues<typeof pricingSettings>): PricingConfig {
  return { pricing: { rate: values.FEE_RATE_BPS, flat: values.FEE_FLAT, dispute: values.FEE_DISPUTE } } as const
}

/** A setting with an amount in minor units, such as `EUR:25`. */
function money() {
  const problem = 'must be a currency and minor units, such as EUR:25'
  return parsed({ form: 'currency and minor units, such as `EUR:25`', problem }, readMoney)
}
