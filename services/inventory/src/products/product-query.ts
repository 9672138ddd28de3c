import { p } from '@trestle/endpoints/endpoints.ts'
import { z } from 'zod'
import { filtersTooLong, type Issue, tooManyFilters, tooManyFilterValues, validationError } from '../errors.ts'
import { FIELD_TEXTS } from '../field-errors.ts'

import { PageKeywords, TEXT_PATTERN } from '../requests/fields.ts'
import { INCLUDES, SKU_LENGTH_MAX } from './product.ts'
import { readFilter, VALUES_MAX } from './product-filter.ts'
import { ATTRIBUTES_FORMS, PRODUCT_SORTS, type ProductSelection } from './product-list-repository.ts'

const FILTERS_MAX = 10
/** The maximum length of all URL-encoded filters. `Link` repeats them twice, and many clients limit headers to 16 KiB. */
const FILTERS_LENGTH_MAX = 6_000

/** Matches the start of any JSON text. */
const JSON_START = String.raw`^[ \t\r\n]*(?:[\[{"0-9-]|true|false|null)`
/** A text without U+0000, which PostgreSQL cannot store. */
const STORABLE = String.raw`^[^\x00]*$`

const Once = z.string({ error: FIELD_TEXTS.givenTwice })

export const IncludeKeywords = z.object({
  include: p
    .list(p.oneOf(...INCLUDES))
    .optional()
    .meta({ description: 'Members that are shown too' }),
})

export type IncludeKeywords = z.output<typeof IncludeKeywords>

/** The filters and the order of products. Every `attributes.PATH`, with or without an operator, is also a filter. */
export const FilterKeywords = z
  .object({
    sort: p
      .oneOf(...PRODUCT_SORTS)
      .default('id')
      .meta({ description: 'The order. A leading - is descending' }),
    sku: Once.optional().meta({
      maxLength: SKU_LENGTH_MAX,
      pattern: STORABLE,
      description: 'Only the product with this SKU',
    }),
    'sku[in]': Once.optional().meta({
      pattern: String.raw`^,*[^,\x00]+(,+[^,\x00]+){0,99},*$`,
      description: 'Only products with one of up to 100 SKUs, separated by commas',
    }),
    'sku[prefix]': Once.optional().meta({
      maxLength: SKU_LENGTH_MAX,
      pattern: STORABLE,
      description: 'Only products whose SKU begins with this',
    }),
    contains: Once.optional().meta({
      pattern: JSON_START,
      contentMediaType: 'application/json',
      description: 'Only products whose attributes contain this JSON',
    }),
    q: Once.optional().meta({
      minLength: 1,
      maxLength: 200,
      pattern: TEXT_PATTERN,
      description:
        'Only products with these words in sku or attribute values. The last word may be the beginning of one',
    }),
  })
  .catchall(Once)

export const ProductListKeywords = PageKeywords.extend(IncludeKeywords.shape)
  .extend({
    attributes: p
      .oneOf(...ATTRIBUTES_FORMS)
      .optional()
      .meta({
        description:
          'short: attributes of more than 4096 bytes of JSON are null, and attributesBytes says how long they are',
      }),
    count: p
      .oneOf('exact')
      .optional()
      .meta({ description: 'Adds the header X-Total-Count: how many products meet the filters' }),
  })
  .extend(FilterKeywords.shape)
  .catchall(Once)

export type ProductListKeywords = z.output<typeof ProductListKeywords>

type FilterInput = Readonly<Record<string, unknown>>

/**
 * @returns the selection, with the filters in the order of the query
 * @throws validationError for parameters that are not filters; tooManyFilters, filtersTooLong, tooManyFilterValues
 */
export function readSelection({
  sort,
  ...parameters
}: FilterInput & { sort: ProductSelection['sort'] }): ProductSelection {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined)
  const reads = given.map(([name, value]) => ({ name, read: readFilter(name, String(value)) }))
  const [first, ...others] = reads.flatMap(({ name, read }): Issue[] =>
    read.verdict === 'refused' ? [{ path: name.slice(0, 64), message: read.problem }] : [],
  )
  if (first !== undefined) throw validationError([first, ...others])
  if (given.length > FILTERS_MAX) throw tooManyFilters(FILTERS_MAX)
  if (lengthInUrl(given) > FILTERS_LENGTH_MAX) {
    throw filtersTooLong(FILTERS_LENGTH_MAX)
  }
  const accepted = reads.flatMap(({ read }) => (read.verdict === 'accepted' ? [read] : []))
  const listed = accepted.reduce((sum, { listed: count = 0 }) => sum + count, 0)
  if (listed > VALUES_MAX) throw tooManyFilterValues(VALUES_MAX)
  return { sort, filters: accepted.map(({ filter }) => filter) }
}

function lengthInUrl(parameters: readonly (readonly [string, unknown])[]): number {
  const texts = Object.fromEntries(parameters.map(([name, value]) => [name, String(value)]))
  return new URLSearchParams(texts).toString().length
}

/** Returns a selection as text, independent of the order of its parameters. */
export function nameOfSelection({ sort, ...parameters }: FilterInput): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined)
  return JSON.stringify([sort, ...given.sort(([a], [b]) => (a < b ? -1 : 1))])
}
