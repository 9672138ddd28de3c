import type { SettingValues } from '@trestle/common/config/load-config.ts'
import { flag, integer, oneOf, parsed } from '@trestle/common/config/setting.ts'
import { group } from '@trestle/common/config/setting-description.ts'
import { namesLoopback } from '@trestle/common/outbound/address-rules.ts'
import { z } from 'zod'
import { type FileForm, PAIN_VERSIONS, type PayerAddress, toTownName } from '../payouts/pain-001.ts'

/** The address of an acquirer, and the secret that payments and the acquirer share. */
interface AcquirerAddress {
  readonly name: string
  /** The URL without the secret. */
  readonly url: string
  readonly secret: string
}

const DAYS_MAX = 3_650
const CONFIRMATION_DAYS_MAX = 30
const DELAY_DAYS = { live: 2, test: 0 } as const

export const acquiringSettings = group('Acquirers and payouts', {
  ACQUIRERS: acquirers()
    .default([])
    .describe(
      'Acquirers that live merchants may have. http:// is for this machine only. Test merchants have the simulator.',
    ),
  CONFIRMATION_DAYS: integer(1, CONFIRMATION_DAYS_MAX, 'days')
    .prefault('3')
    .describe(
      'Time for an acquirer to accept a capture, refund or void. After that it counts as rejected. Until it is accepted, a capture is not paid out.',
    ),
  AUTH_EXPIRY_DAYS: integer(0, DAYS_MAX, 'days')
    .prefault('0')
    .describe('Age at which what is left of an authorization is voided. 0: never.'),
  PAYOUT_SCHEDULE: oneOf('off', 'daily')
    .prefault('off')
    .describe('`daily` pays every merchant out once a day; `off` leaves payouts to the operator.'),
  PAYOUT_MIN: integer(0, 1_000_000)
    .prefault('1')
    .describe("Smallest payout, in major units of the merchant's currency."),
  PAYOUT_DELAY_DAYS: integer(0, DAYS_MAX, 'days')
    .optional()
    .describe('Time from a capture to its payout. Default: 2 days, and 0 for test merchants.'),
  PAYOUT_FILE: oneOf(...PAIN_VERSIONS)
    .prefault('pain.001.001.09')
    .describe('Version of the SEPA files. Banks take `.09`; many of them have ended `.03`.'),
  PAYOUT_ADDRESS: payerAddress()
    .optional()
    .describe(
      'Town and country of the account that pays. Banks ask for them with a SEPA transfer to an account outside the EEA, such as GB or CH: without them such a payout is held back.',
    ),
  TIME_ZONE: timeZone()
    .prefault('UTC')
    .describe('Time zone of the operator. The day on which a bank shall pay is counted in it.'),
  ALLOW_SEED: flag().prefault('false').describe('Let `payments seed` insert objects with given ids and keys.'),
})

/** Time limits of acquiring, in days. */
export interface DayLimits {
  /** The days after which an authorization expires. 0 means never. */
  readonly authorizationExpiryDays: number
  /** The days in which an acquirer must accept an operation. Jobs retry for longer than a day. */
  readonly confirmationDays: number
  /** The days after which an exchange rate is too old for live merchants. */
  readonly rateAgeDaysMax: number
}

/** The settings of acquirers and payouts. Delays are in days. */
export interface AcquiringConfig {
  readonly acquirers: readonly AcquirerAddress[]
  readonly payouts: {
    readonly schedule: 'daily' | 'off'
    /** The smallest payout, in major units of the merchant's currency. */
    readonly minimumMajorUnits: number
    readonly delayDays: {
      readonly live: number
      readonly test: number
    }
    readonly version: FileForm['version']
    readonly timeZone: string
    /** The address of the payer, which banks require for transfers to countries outside the EEA. */
    readonly address: PayerAddress | undefined
  }
  readonly seedAllowed: boolean
}

export function toAcquiringConfig(values: SettingValues<typeof acquiringSettings>): AcquiringConfig {
  const delayDays = values.PAYOUT_DELAY_DAYS
  return {
    acquirers: values.ACQUIRERS,
    payouts: {
      schedule: values.PAYOUT_SCHEDULE,
      minimumMajorUnits: values.PAYOUT_MIN,
      delayDays: { live: delayDays ?? DELAY_DAYS.live, test: delayDays ?? DELAY_DAYS.test },
      version: values.PAYOUT_FILE,
      timeZone: values.TIME_ZONE,
      address: values.PAYOUT_ADDRESS,
    },
    seedAllowed: values.ALLOW_SEED,
  } as const
}

const MALFORMED = 'must be name=https://:secret@host/path,… with each name once'
const UNPROTECTED = 'must be https, except for this machine (127.0.0.1, ::1, localhost): card numbers travel there'

/** A setting with a town and an ISO 3166 country code, in the form that bank files need. */
function payerAddress() {
  const problem = 'must be a town in letters that Latin letters can stand for, and a country, such as København, DK'
  return parsed({ form: 'town and country, such as `København, DK`', problem }, (value): PayerAddress | undefined => {
    const [, town = '', country = ''] = /^\s*(.+?)\s*,\s*([A-Z]{2})\s*$/u.exec(value) ?? []
    const isCountry = country !== '' && new Intl.DisplayNames('en', { type: 'region', fallback: 'none' }).of(country)
    return isCountry && toTownName(town) !== '' ? { town, country } : undefined
  })
}

/** A setting with a name from the time zone database, or an offset such as `+02:00`. */
function timeZone() {
  const problem = 'must be a time zone such as Europe/Copenhagen'
  return parsed({ form: 'time zone, such as `Europe/Copenhagen`', problem }, (value) => {
    try {
      return new Intl.DateTimeFormat('en', { timeZone: value }).resolvedOptions().timeZone
    } catch {
      return undefined
    }
  })
}

/** A setting with a list of acquirers: `name=https://:secret@host/path,…`. Each name may occur once. */
function acquirers() {
  return z
    .string()
    .meta({ secret: true, form: 'list of `name=https://:secret@host/path`' })
    .transform((value, context): readonly AcquirerAddress[] => {
      const read = value.split(',').map(readAcquirer)
      const found = read.flatMap((acquirer) => acquirer ?? [])
      const isWhole = found.length === read.length && new Set(found.map(({ name }) => name)).size === read.length
      const isPrivate = found.every(({ url }) => isProtected(url))
      if (isWhole && isPrivate) return found
      context.addIssue({ code: 'custom', message: isWhole ? UNPROTECTED : MALFORMED })
      return z.NEVER
    })
}

/** Returns whether card data on the way to this address stays on this machine or is protected by TLS. */
function isProtected(address: string): boolean {
  const { protocol, hostname } = new URL(address)
  return protocol === 'https:' || namesLoopback(hostname.replace(/^\[|\]$/g, ''))
}

/** Reserved names. `payments merchants acquirer` takes `none` to remove the acquirer. */
const TAKEN_NAMES: ReadonlySet<string> = new Set(['simulator', 'none'])

function readAcquirer(text: string): AcquirerAddress | undefined {
  const [, name, address = ''] = /^\s*([a-z][a-z0-9-]{0,62})=(\S+)\s*$/.exec(text) ?? []
  const url = URL.parse(address)
  if (name === undefined || TAKEN_NAMES.has(name) || !url || !/^https?:$/.test(url.protocol)) return undefined
  const secret = decodeURIComponent(url.password)
  if (secret === '') return undefined
  url.username = ''
  url.password = ''
  return { name, url: url.href, secret }
}

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
  /** Whether one database call may contain operations of several merchants. `undefined` if the database decides. */
  readonly batchScope: 'any' | 'merchant' | undefined
  readonly rateTerms: {
    readonly marginBasisPoints: number
    readonly ageDaysMax: number
  }
}

/** Returns the settings of operations: the margin in basis points, the maximum age of rates in days. */
export function toPostingConfig(values: SettingValues<typeof postingSettings>): PostingConfig {
  return {
    batchScope: values.BATCH,
    rateTerms: { marginBasisPoints: values.FX_MARGIN_BPS, ageDaysMax: values.FX_MAX_AGE_DAYS },
  } as const
}
