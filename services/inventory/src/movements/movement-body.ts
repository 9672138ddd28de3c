import { p } from '@trestle/endpoints/endpoints.ts'
import { VALUE_TEXTS } from '@trestle/endpoints/error-texts.ts'
import { z } from 'zod'
import { FIELD_TEXTS } from '../field-errors.ts'
import { isJsonText, itemTexts, keepNestedText } from '../json/json-object.ts'
import { FreeText, LocationId, ProductId, RecordId } from '../requests/fields.ts'
import { QUANTITY_MAX } from '../stock/level.ts'
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

/** The `type` determines the other members. */
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
    { error: VALUE_TEXTS.notOneOf(LINE_TYPES) },
  )
  .meta({ id: 'MovementLine' })

const PLACE = { fromLocationId: 'locationId', toLocationId: 'locationId' } as const
/** For each type of line, members of other types and the members to use instead. */
const MEMBERS_INSTEAD: Readonly<Record<MovementLine['type'], Readonly<Record<string, string>>>> = {
  receive: { delta: 'quantity', ...PLACE },
  ship: { delta: 'quantity', ...PLACE },
  count: { delta: 'quantity', ...PLACE },
  adjust: { quantity: 'delta', ...PLACE },
  transfer: { delta: 'quantity', locationId: 'fromLocationId and toLocationId' },
}

/** Returns the members of a line that belong to other types of movements, with the problem of each. */
function findMisplaced(line: object): readonly { readonly name: string; readonly message: string }[] {
  const type = LINE_TYPES.find((each) => 'type' in line && line.type === each)
  if (type === undefined) return []
  return Object.entries(MEMBERS_INSTEAD[type])
    .filter(([name]) => name in line)
    .map(([name, members]) => ({ name, message: FIELD_TEXTS.otherMovement({ type, members }) }))
}

const LINES_BOUND = FIELD_TEXTS.wrongLines({ max: LINES_MAX })

/** More members than a valid line can have. */
const MEMBERS_MAX = 20

const Lines = z.preprocess(
  (value, context) => {
    if (!isJsonText(value)) return value
    const lines: unknown = value.parsed
    if (!Array.isArray(lines)) return {}
    const size = findSizeProblem(lines)
    const problems = size === undefined ? lines.flatMap(findMisplacedIn) : [size]
    if (problems.length === 0) return itemTexts(value.jsonText).map((text, i) => keepNestedText(text, lines[i]))
    for (const problem of problems) context.addIssue({ code: 'custom', ...problem })
    return z.NEVER
  },
  z.array(LineBody, { error: FIELD_TEXTS.notList }).min(1, LINES_BOUND).max(LINES_MAX, LINES_BOUND),
)

/** Checks the size of lines before the schema checks each line, because a body may contain a hundred thousand lines. */
function findSizeProblem(lines: readonly unknown[]): { readonly path: number[]; readonly message: string } | undefined {
  if (lines.length > LINES_MAX) return { path: [], message: LINES_BOUND }
  const wide = lines.findIndex((line) => typeof line === 'object' && Object.keys(line ?? {}).length > MEMBERS_MAX)
  return wide < 0 ? undefined : { path: [wide], message: FIELD_TEXTS.tooManyMembers({ max: MEMBERS_MAX }) }
}

function findMisplacedIn(line: unknown, at: number): { readonly path: PropertyKey[]; readonly message: string }[] {
  const misplaced = typeof line === 'object' && line !== null ? findMisplaced(line) : []
  return misplaced.map(({ name, message }) => ({ path: [at, name], message }))
}

/** The body of a movement: one line as an object, or several lines in the member `lines` (reference: Movements). */
export const MovementBody = z
  .object({
    type: z.enum(LINE_TYPES, { error: VALUE_TEXTS.notOneOf(LINE_TYPES) }).optional(),
    productId: ProductId.optional(),
    locationId: LocationId.optional(),
    fromLocationId: RecordId.optional(),
    toLocationId: RecordId.optional(),
    // The type of the line determines whether a quantity is required, and its range.
    quantity: p.int().optional(),
    delta: Delta.optional(),
    ...common,
    lines: Lines.optional().meta({
      description: `1 to ${LINES_MAX} movements, all or none, in place of the other members`,
    }),
  })
  // The rules below refuse a body without members. OpenAPI can only express this as a number of members.
  .meta({ minProperties: 1 })
  .transform(({ lines, ...single }, context): readonly MovementLine[] => {
    const refuse = (path: PropertyKey[], message: string) => context.addIssue({ code: 'custom', path, message })
    const given = Object.fromEntries(Object.entries(single).filter(([, value]) => value !== undefined))
    if (lines !== undefined) {
      for (const name of Object.keys(given)) refuse([name], FIELD_TEXTS.besideLines)
      return lines
    }
    const misplaced = findMisplaced(given)
    const line = misplaced.length > 0 ? undefined : LineBody.safeParse(given)
    if (line?.success) return [line.data]
    for (const { name, message } of misplaced) refuse([name], message)
    for (const { path, message } of line?.error.issues ?? []) refuse(path, message)
    return z.NEVER
  })
