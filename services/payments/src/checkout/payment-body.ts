import { z } from 'zod'
import { TestObject } from '../acquirers/test-object.ts'
import { FIELD_TEXTS } from '../field-errors.ts'
import { decimalMoneyShape } from '../money/minor-units.ts'
import { anyCustom, anyText, isHttpUrl, reference, text, URL_PATTERN, withText } from '../requests/fields.ts'
import { falseIsAbsent } from '../requests/validate-input.ts'

const HINTS_MAX = 50
const HINT_LENGTH_MAX = 4_096
const PLAN_ENTRIES_MAX = 50
const TOKEN_LENGTH_MAX = 1_024
const RETURN_URL_LENGTH_MAX = 2_048
const REDIRECT_LENGTH_MAX = 2_048

const Amount = z.object({ ...decimalMoneyShape, value: z.int().min(1) })

/** A token: the whole answer of the vault, or only the text of the token. */
const Token = z
  .union([z.string().max(TOKEN_LENGTH_MAX), z.object({ token: z.string().max(TOKEN_LENGTH_MAX) })])
  .transform((token) => (typeof token === 'string' ? token : token.token))

const date = () => z.iso.datetime({ offset: true })

const Repeat = z.object({
  first: date().optional(),
  count: z.int().min(1).optional(),
  interval: z.object({ unit: z.enum(['day', 'week', 'month', 'year']), value: z.int().min(1).optional() }),
})

const PlanEntry = z
  .object({ amount: Amount, scheduled: date().optional(), repeat: Repeat.optional() })
  .refine(({ scheduled, repeat }) => (scheduled === undefined) !== (repeat === undefined), {
    error: FIELD_TEXTS.notOneOfTwo,
  })
  .meta({ oneOf: [withText('scheduled'), { required: ['repeat'] }] })

const Unplanned = z
  .object({ merchant: z.boolean().optional(), customer: z.boolean().optional() })
  .refine(({ merchant, customer }) => merchant === true || customer === true, {
    error: FIELD_TEXTS.neitherOfTwo,
  })
  .meta({
    anyOf: ['merchant', 'customer'].map((name) => ({ properties: { [name]: { const: true } }, required: [name] })),
  })

/**
 * The URL to which the customer returns, normalized like in a browser. The value becomes a header, which allows fewer characters.
 */
const returnUrl = () =>
  text()
    .max(RETURN_URL_LENGTH_MAX)
    .meta({ pattern: URL_PATTERN })
    .transform((value, context) => {
      const url = isHttpUrl(value) ? URL.parse(value) : null
      if (url && url.username === '' && url.password === '') return url.href
      context.addIssue({ code: 'custom', message: FIELD_TEXTS.notReturnUrl })
      return z.NEVER
    })

const notOffered = () =>
  z
    .unknown()
    .refine((value) => value === undefined, { error: FIELD_TEXTS.notOffered })
    .optional()
    .meta({ type: 'null' })

/** The field `test` in the API document. The Zod schema accepts any value, to read `true` as an empty object. */
const { $schema: _, ...testSchema }: Readonly<Record<string, unknown>> = z.toJSONSchema(
  z.union([z.boolean(), TestObject]),
  { io: 'input' },
)

/** The body of `POST /payments` and of its challenges (reference: Orders). */
export const PaymentBody = z.object({
  integration: z.object({ key: anyText() }),
  test: z
    .unknown()
    .transform((value) => (value === true ? {} : value))
    .pipe(TestObject)
    .optional()
    .meta(testSchema)
    .register(falseIsAbsent, {}),
  amount: Amount.optional(),
  card: z.object({
    number: Token,
    expiry: z.object({ month: z.int().min(1).max(12), year: z.int().min(2_000).max(2_099) }),
    code: Token,
  }),
  text: text().min(2).max(1_024).optional(),
  custom: anyCustom().optional(),
  reference: reference().optional(),
  plan: z.array(PlanEntry).min(1).max(PLAN_ENTRIES_MAX).optional(),
  unplanned: Unplanned.optional(),
  hints: z.array(z.string().max(HINT_LENGTH_MAX)).max(HINTS_MAX).default([]),
  returnUrl: returnUrl().optional(),
  redirect: text()
    .max(REDIRECT_LENGTH_MAX)
    .optional()
    .describe('Where the payment link of the order leads after the payment: part of what tells orders apart'),
  applepay: notOffered(),
  mobilepay: notOffered(),
})

/** An order that `PaymentBody` has accepted. Its tokens are not decrypted yet. */
export type Order = z.output<typeof PaymentBody>
