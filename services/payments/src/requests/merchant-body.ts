import { z } from 'zod'
import { hasCardNumber } from '../cards/clear-number.ts'
import { FIELD_TEXTS } from '../field-errors.ts'
import { COUNTRIES, isCountry } from '../merchants/countries.ts'
import { hasIbanChecksum, hasIbanShape, isPayableIban, normaliseIban } from '../merchants/iban.ts'
import type { NewMerchant } from '../merchants/merchant.ts'
import { FUNDING, isFundingCurrency } from '../money/currencies.ts'
import { anyText, descriptor, email, name, text, website } from './fields.ts'

const currency = text()
  .trim()
  .refine((code) => /^[A-Z]{3}$/.test(code), { error: FIELD_TEXTS.notCurrencyCode })
  .refine(isFundingCurrency, { error: FIELD_TEXTS.notFunding, params: { code: 'UNKNOWN' } })
  .meta({ pattern: undefined, enum: [...FUNDING] })
const country = text()
  .trim()
  .refine((code) => /^[A-Z]{2}$/.test(code), { error: FIELD_TEXTS.notCountryCode })
  .refine(isCountry, { error: FIELD_TEXTS.notCountry, params: { code: 'UNKNOWN' } })
  .meta({ pattern: undefined, enum: [...COUNTRIES] })
const iban = anyText()
  .overwrite(normaliseIban)
  .refine(hasIbanShape, { error: FIELD_TEXTS.notIban, abort: true })
  .meta({ pattern: '^[A-Z]{2}[0-9]{2}[A-Z0-9]{4,30}$' })

/** Returns the schema of the IBAN of a paying account. The IBAN must be valid for its country. */
export function checkedIban(): z.ZodString {
  return iban
    .refine(hasIbanChecksum, { error: FIELD_TEXTS.ibanDigitsWrong, params: { code: 'FORMAT' }, abort: true })
    .refine(isPayableIban, { error: FIELD_TEXTS.notIbanOfCountry })
}

/** Live merchants receive real money. So their IBAN must have correct check digits and be valid for its country. */
export const [rightDigits, rightCountry] = [
  ruleOfLive(hasIbanChecksum, FIELD_TEXTS.ibanDigitsWrong),
  ruleOfLive((iban) => !hasIbanChecksum(iban) || isPayableIban(iban), FIELD_TEXTS.notIbanOfCountry),
]

interface MaybeLive {
  readonly test?: unknown
  readonly bank?: { readonly iban?: unknown } | undefined
}

type Rule = [(merchant: MaybeLive) => boolean, { path: string[]; error: string; when: () => boolean }]

function ruleOfLive(isRight: (iban: string) => boolean, error: string): Rule {
  const isMet = ({ test, bank }: MaybeLive): boolean => {
    const iban = bank?.iban
    return test !== false || typeof iban !== 'string' || !hasIbanShape(iban) || isRight(iban)
  }
  return [isMet, { path: ['bank', 'iban'], error, when: () => true }]
}

/** The values of a new merchant, in requests and in the operator's command (reference: Creating a merchant). */
export const MerchantBody = z
  .object({
    name: name().optional(),
    currency,
    test: z.boolean().default(false),
    email: email(),
    website: website(),
    descriptor: descriptor(),
    company: z.object({ country, number: anyText().min(1).max(64).optional() }),
    bank: z.object({ iban: iban.optional(), holder: name().optional() }).optional(),
  })
  .refine(...rightDigits)
  .refine(...rightCountry)
  .refine(({ company }) => !hasNumberOfCard(company), {
    path: ['company', 'number'],
    error: FIELD_TEXTS.cardNumber,
    params: { code: 'FORMAT' },
    when: () => true,
  })

/** A SIRET identifies a French establishment. Its 14 digits have the same check digit as card numbers. */
const SIRET = /^(?:\d\s*){14}$/

/** Returns whether the number of a company contains a card number. */
export function hasNumberOfCard(company: unknown): boolean {
  const { country, number } = z.object({ country: z.unknown(), number: z.unknown() }).partial().catch({}).parse(company)
  return typeof number === 'string' && hasCardNumber(number) && !(country === 'FR' && SIRET.test(number))
}

/** Converts the values of a body to the values of the row. Fees and permissions come from the settings. */
export function toNewMerchant({
  company,
  bank,
  ...body
}: z.infer<typeof MerchantBody>): Omit<NewMerchant, 'claim' | 'pricing'> {
  return {
    ...body,
    name: body.name ?? null,
    country: company.country,
    companyNumber: company.number ?? null,
    iban: bank?.iban ?? null,
    holder: bank?.holder ?? null,
  }
}
