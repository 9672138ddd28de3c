import { p } from '@trestle/endpoints/endpoints.ts'
import { z } from 'zod'
import { type Issue, invalid } from '../error-vocabulary.ts'
import { PageKeywords } from '../paging/page-query.ts'
import { readFilter, VALUES_MAX } from './product-filter.ts'
import { PRODUCT_SORTS, type ProductSelection } from './product-list.ts'
import { INCLUDES } from './product-view.ts'

const FILTERS_MAX = 10
/** Characters as in a URL. Twice as many stand in the header Link, of which many clients take no more than 16 KiB. */
const FILTERS_LENGTH_MAX = 6_000

const Once = z.string({ error: 'must be given once' })

/** What a request wants shown beside the specified fields. */
export const IncludeKeywords = z.object({
  include: p.list(p.oneOf(...INCLUDES)).optional(),
})

export type IncludeKeywords = z.output<typeof IncludeKeywords>

/** The conditions on products; beside the members named here, every `attributes.PATH` with or without an operator. */
export const FilterKeywords = z
  .object({
    sort: p.oneOf(...PRODUCT_SORTS).default('id'),
    sku: Once.optional(),
    'sku[in]': Once.optional().meta({ description: 'One of up to 100' }),
    'sku[prefix]': Once.optional(),
    contains: Once.optional().meta({ description: 'JSON that the attributes contain' }),
    q: Once.optional().meta({ description: 'Words in sku or attribute values, the last one as a beginning' }),
  })
  .catchall(Once)

/** The keywords of the list of products. */
export const ProductListKeywords = PageKeywords.extend(IncludeKeywords.shape)
  .extend({ count: p.oneOf('exact').optional().meta({ description: 'Adds the header X-Total-Count' }) })
  .extend(FilterKeywords.shape)
  .catchall(Once)

export type ProductListKeywords = z.output<typeof ProductListKeywords>

/** Keywords that choose and order products, as texts. */
type FilterInput = Readonly<Record<string, unknown>>

/** @throws validationError for every parameter that is no filter, and for more or longer ones than there may be */
export function readSelection({
  sort,
  ...parameters
}: FilterInput & { sort: ProductSelection['sort'] }): ProductSelection {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined)
  const verdicts = given.map(([name, value]) => ({ name, verdict: readFilter(name, String(value)) }))
  const [first, ...others] = verdicts.flatMap(({ name, verdict }): Issue[] =>
    'problem' in verdict ? [{ path: name.slice(0, 64), message: verdict.problem }] : [],
  )
  if (first !== undefined) throw invalid([first, ...others])
  if (given.length > FILTERS_MAX) throw invalid([{ path: '', message: `must have at most ${FILTERS_MAX} filters` }])
  if (lengthInUrl(given) > FILTERS_LENGTH_MAX) {
    throw invalid([{ path: '', message: `must have at most ${FILTERS_LENGTH_MAX} characters of filters, URL-encoded` }])
  }
  const listed = verdicts.reduce((sum, { verdict }) => sum + ('listed' in verdict ? verdict.listed : 0), 0)
  if (listed > VALUES_MAX) throw invalid([{ path: '', message: `must have at most ${VALUES_MAX} values in all lists` }])
  return { sort, filters: verdicts.flatMap(({ verdict }) => ('filter' in verdict ? [verdict.filter] : [])) }
}

function lengthInUrl(parameters: readonly (readonly [string, unknown])[]): number {
  const texts = Object.fromEntries(parameters.map(([name, value]) => [name, String(value)]))
  return new URLSearchParams(texts).toString().length
}

/** A selection as one text, the same whatever the order of its parameters. */
export function nameOfSelection({ sort, ...parameters }: FilterInput): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined)
  return JSON.stringify([sort, ...given.sort(([a], [b]) => (a < b ? -1 : 1))])
}
