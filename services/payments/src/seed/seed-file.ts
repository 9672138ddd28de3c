import { z } from 'zod'
import { FIELD_TEXTS } from '../field-errors.ts'
import { isCountry } from '../merchants/countries.ts'
import { hasIbanShape, normaliseIban } from '../merchants/iban.ts'
import { isFundingCurrency } from '../money/currencies.ts'
import { toFieldErrors } from '../requests/field-error.ts'
import { amount, anyText, currency, descriptor, email, id, name, text, website } from '../requests/fields.ts'
import { hasNumberOfCard, rightCountry, rightDigits } from '../requests/merchant-body.ts'

const operation = z.union([
  z.strictObject({ capture: amount() }).transform(({ capture }) => ({ kind: 'capture' as const, amount: capture })),
  z.strictObject({ refund: amount() }).transform(({ refund }) => ({ kind: 'refund' as const, amount: refund })),
  z.strictObject({ void: amount() }).transform(({ void: voided }) => ({ kind: 'void' as const, amount: voided })),
])

const key = () => text().refine((value) => z.uuid().safeParse(value).success, { error: FIELD_TEXTS.notUuid })

const SeedApp = z.strictObject({ id: id(), name: name().optional(), key: key() })

const SeedMerchant = z
  .strictObject({
    id: id(),
    key: key(),
    name: name().optional(),
    currency: z.string().refine(isFundingCurrency, FIELD_TEXTS.notFunding),
    test: z.boolean().default(false),
    email: email(),
    website: website(),
    descriptor: descriptor(),
    company: z
      .strictObject({
        country: z.string().refine(isCountry, FIELD_TEXTS.notCountry),
        number: anyText().max(64).optional(),
      })
      .refine((company) => !hasNumberOfCard(company), { path: ['number'], error: FIELD_TEXTS.cardNumber }),
    bank: z
      .strictObject({
        iban: anyText().overwrite(normaliseIban).refine(hasIbanShape, FIELD_TEXTS.notIban).optional(),
        holder: name().optional(),
      })
      .optional(),
    apps: z.array(id()).default([]),
  })
  .refine(...rightDigits)
  .refine(...rightCountry)

const SeedTransaction = z.strictObject({
  id: id(),
  merchantId: id(),
  currency: currency(),
  amount: amount(),
  card: z.strictObject({
    number: anyText().refine((value) => /^[0-9]{10,19}$/.test(value), { error: FIELD_TEXTS.notCardNumber }),
    expiry: z.strictObject({ month: z.int().min(1).max(12), year: z.int().min(2000).max(2099) }),
  }),
  created: z.iso.datetime({ offset: true }).optional(),
  operations: z.array(operation).default([]),
})

/** The content of a file for `payments seed`: objects with given ids and keys (reference: Seed files). */
const SeedFile = z.strictObject({
  apps: z.array(SeedApp).default([]),
  merchants: z.array(SeedMerchant).default([]),
  transactions: z.array(SeedTransaction).default([]),
})

export type SeedFile = z.infer<typeof SeedFile>
export type SeedApp = z.infer<typeof SeedApp>
/** A merchant of a seed file, with the ids of its member apps. */
export type SeedMerchant = z.infer<typeof SeedMerchant>
/** A transaction of a seed file. `amount` is in minor units. */
export type SeedTransaction = z.infer<typeof SeedTransaction>

/** Parses the text of a seed file. @throws Error with one line for each invalid field */
export function readSeedFile(content: string): SeedFile {
  const input = parse(content)
  const result = SeedFile.safeParse(input)
  if (result.success) return result.data
  const errors = toFieldErrors(result.error.issues, input, Object.keys(SeedFile.shape))
  throw new Error(errors.map(({ field, message }) => `${field === 'body' ? 'file' : field}: ${message}`).join('\n'))
}

function parse(content: string): unknown {
  try {
    return JSON.parse(content)
  } catch (cause) {
    throw new Error('the file is not JSON', { cause })
  }
}
