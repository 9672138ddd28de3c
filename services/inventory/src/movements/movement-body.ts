import { p } from '@trestle/endpoints/endpoints.ts'
import { z } from 'zod'
import { FIELD_TEXTS } from '../field-errors.ts'
import { isJsonText, keepNestedText } from '../json/json-object.ts'
import { itemTexts } from '../json/nested-text.ts'
import { FreeText } from '../requests/free-text.ts'
import { LocationId, ProductId, RecordId } from '../requests/record-id.ts'
import { QUANTITY_MAX } from '../stock/level-view.ts'
import { LINE_TYPES, type MovementLine } from './movement.ts'

const LINES_MAX = 100

const Quantity = p.int({ min: 1, max: QUANTITY_MAX }).meta({ description: 'How much comes or leaves' })
const Counted = p.int({ min: 0, max: QUANTITY_MAX })
const Delta = p
  .int({ min: -QUANTITY_MAX, max: QUANTITY_MAX })
  .refine((delta) => delta !== 0, { error: FIELD_TEXTS.zero })
  .meta({ not: { const: 0 } })

const common = {
  reason: FreeText.optional().meta({ description: 'Why the stock is moved' }),
  reference: FreeText.optional().meta({
    description: 'A document of the client, by which the movement can be found',
  }),
  expectedOnHand: Counted.optional().meta({ description: 'Refuse unless this quantity is on hand before' }),
}
const place = { productId: ProductId, locationId: LocationId }

/** One line of a body. Its `type` decides which members it has. */
export const LineBody = z
  .discriminatedUnion(
    'type',
    [
      z.strictObject({ type: z.enum(['receive', 'ship']), ...place, quantity: Quantity, ...common }),
      z.strictObject({
        type: z.literal('adjust'),
        ...place,
        delta: Delta.meta({ description: 'By how much the quantity on hand changes' }),
        ...common,
        reason: FreeText.meta({ description: 'Why the stock is adjusted' }),
      }),
      z.strictObject({
        type: z.literal('count'),
        ...place,
        quantity: Counted.meta({ description: 'What is on hand' }),
        ...common,
      }),
      z
        .strictObject({
          type: z.literal('transfer'),
          productId: ProductId,
          fromLocationId: RecordId.meta({ description: 'Where stock leaves' }),
          toLocationId: RecordId.meta({ description: 'Where stock arrives: another location' }),
          quantity: Quantity,
          ...common,
        })
        .refine(({ fromLocationId, toLocationId }) => fromLocationId !== toLocationId, {
          path: ['toLocationId'],
          error: FIELD_TEXTS.sameLocation,
        }),
    ],
    { error: FIELD_TEXTS.notOneOf(LINE_TYPES) },
  )
  .meta({ id: 'MovementLine' })

const LINES_BOUND = FIELD_TEXTS.wrongLines({ max: LINES_MAX })

/** More members than any line has. */
const MEMBERS_MAX = 20

const Lines = z.preprocess(
  (value, context) => {
    if (!isJsonText(value)) return value
    const lines: unknown = value.parsed
    if (!Array.isArray(lines)) return {}
    const problem = findSizeProblem(lines)
    if (problem === undefined) return itemTexts(value.jsonText).map((text, i) => keepNestedText(text, lines[i]))
    context.addIssue({ code: 'custom', ...problem })
    return z.NEVER
  },
  z.array(LineBody, { error: FIELD_TEXTS.notList }).min(1, LINES_BOUND).max(LINES_MAX, LINES_BOUND),
)

/** Checks the size of lines before the schema checks each line: a body has room for a hundred thousand of them. */
function findSizeProblem(lines: readonly unknown[]): { readonly path: number[]; readonly message: string } | undefined {
  if (lines.length > LINES_MAX) return { path: [], message: LINES_BOUND }
  const wide = lines.findIndex((line) => typeof line === 'object' && Object.keys(line ?? {}).length > MEMBERS_MAX)
  return wide < 0 ? undefined : { path: [wide], message: FIELD_TEXTS.tooManyMembers({ max: MEMBERS_MAX }) }
}

/** The body of a movement: one line as an object, or several in the member `lines` (reference: Movements). */
export const MovementBody = z
  .object({
    type: z.enum(LINE_TYPES, { error: FIELD_TEXTS.notOneOf(LINE_TYPES) }).optional(),
    productId: ProductId.optional(),
    locationId: LocationId.optional(),
    fromLocationId: RecordId.optional(),
    toLocationId: RecordId.optional(),
    quantity: Counted.optional(),
    delta: Delta.optional(),
    ...common,
    lines: Lines.optional().meta({
      description: `1 to ${LINES_MAX} movements, all or none, in place of the other members`,
    }),
  })
  // The API document shows lines and one line as two forms of the body.
  .meta({ minProperties: 1 })
  .transform(({ lines, ...single }, context): readonly MovementLine[] => {
    const refuse = (path: PropertyKey[], message: string) => context.addIssue({ code: 'custom', path, message })
    const given = Object.fromEntries(Object.entries(single).filter(([, value]) => value !== undefined))
    if (lines !== undefined) {
      for (const name of Object.keys(given)) refuse([name], FIELD_TEXTS.besideLines)
      return lines
    }
    const line = LineBody.safeParse(given)
    if (line.success) return [line.data]
    for (const issue of line.error.issues) {
      if (issue.code === 'unrecognized_keys') for (const key of issue.keys) refuse([key], FIELD_TEXTS.otherMovement)
      else refuse(issue.path, issue.message)
    }
    return z.NEVER
  })
