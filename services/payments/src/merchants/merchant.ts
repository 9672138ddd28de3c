import type { Pricing } from './pricing.ts'

/** The acts that a merchant may do, each allowed or not. */
export interface Claim {
  readonly canChargeCard: boolean
  readonly canSaveCard: boolean
  readonly canTransferToCard: boolean
  readonly canCapture: boolean
  readonly canRefund: boolean
  readonly canVoid: boolean
}

/** A merchant as it is stored. */
export interface Merchant {
  readonly id: string
  /** The public key of payment links and checkouts. It does not authenticate. */
  readonly key: string
  readonly name: string | null
  readonly currency: string
  readonly test: boolean
  readonly email: string
  readonly website: string
  readonly descriptor: string
  readonly country: string
  readonly companyNumber: string | null
  readonly iban: string | null
  /** The owner of the account of `iban`. Null: the company, by `name`. */
  readonly holder: string | null
  readonly claim: Claim
  readonly pricing: Pricing
  readonly tdsMode: 'attempt' | 'full'
  /** Minor units of `currency`. */
  readonly balance: bigint
  readonly created: Date
}

/** The values of a new merchant. The database adds id, key, tag and time. */
export type NewMerchant = Pick<
  Merchant,
  | 'name'
  | 'currency'
  | 'test'
  | 'email'
  | 'website'
  | 'descriptor'
  | 'country'
  | 'companyNumber'
  | 'iban'
  | 'holder'
  | 'claim'
  | 'pricing'
>

/** The permissions of a new merchant. Transfers to cards are not offered. */
export const DEFAULT_CLAIM: Claim = {
  canChargeCard: true,
  canSaveCard: true,
  canTransferToCard: false,
  canCapture: true,
  canRefund: true,
  canVoid: true,
}

/** A change of a merchant. Absent fields stay; `name: null` removes the name. */
export interface MerchantChanges {
  readonly name?: string | null | undefined
  readonly email?: string | undefined
  readonly descriptor?: string | undefined
}

/** The values of a test merchant that its maker did not choose, such as `payments trigger`. */
export const TEST_MERCHANT = {
  name: 'Test shop',
  currency: 'EUR',
  email: 'merchant@example.com',
  website: 'https://example.com',
  descriptor: 'Test shop',
  country: 'DK',
  iban: 'DK5000400440116243',
} as const
