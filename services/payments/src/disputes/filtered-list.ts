import { z } from 'zod'
import type { RequestInput } from '../access/require-access.ts'
import { NO_PAGE, type PageBounds, pageBounds } from '../pagination/page-query.ts'
import { id, ListQuery } from '../requests/fields.ts'

/** The query of a list that takes its merchant as a filter (reference: Disputes and fraud alerts). */
export const FilteredListQuery = ListQuery.extend({
  filter: z
    .object({ merchantId: id(), transactionId: id().optional(), test: z.boolean().optional() })
    // State `required` here, because the library that generates the OpenAPI document drops it inside a parameter.
    .meta({ allOf: [{ required: ['merchantId'] }] })
    .describe('The merchant, as filter[merchantId]=…, and perhaps more'),
})

/** The page that such a query requests. `merchantId` is `null` if the query has no valid merchant id. */
export interface FilteredPage extends PageBounds {
  readonly merchantId: string | null
  readonly transactionId: string | undefined
  readonly test: boolean | undefined
}

/** Returns the page of a query. An invalid query keeps its merchant too, because access is checked before the values. */
export function filteredPage(input: RequestInput<z.infer<typeof FilteredListQuery>>): FilteredPage {
  if (input.verdict === 'valid') {
    const { merchantId, transactionId, test } = input.values.filter
    return { ...pageBounds(input.values), merchantId, transactionId, test }
  }
  const named = MerchantOfQuery.safeParse(input.problem.values)
  const merchantId = named.success ? named.data.filter.merchantId : null
  return { ...pageBounds(NO_PAGE), merchantId, transactionId: undefined, test: undefined }
}

const MerchantOfQuery = z.object({ filter: z.object({ merchantId: id() }) })
